#!/bin/sh
# An agent in another language: two turns for each task, with curl, and a reward.
while read -r task; do
  field() { printf '%s' "$task" | sed -n "s/.*\"$1\": *\"\{0,1\}\([^\",}]*\).*/\1/p"; }
  id=$(field id) key=$(field api_key)
  url=$(printf '%s' "$task" | sed -n 's/.*"base_url": *"\([^"]*\)".*/\1/p')
  ask() { curl -s -H "Authorization: Bearer $key" -H 'Content-Type: application/json' -d "$1" "$url/chat/completions"; }
  messages='{"role": "user", "content": "Guess."}'
  answer=$(ask "{\"messages\": [$messages]}")
  turn=$(printf '%s' "$answer" | sed -n 's/.*"message":\({"role":"assistant","content":"\([^"\\]\|\\.\)*"\).*/\1}/p')
  ask "{\"messages\": [$messages, $turn, {\"role\": \"user\", \"content\": \"Again.\"}]}" > /dev/null
  printf '{"id": %s, "reward": %s}\n' "$id" "$((${#turn} % 2))"
done
