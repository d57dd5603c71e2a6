#include "cohort/rewards/choice/words.h"

#include <sstream>
#include <string>
#include <unordered_map>

namespace cohort::choice {
namespace {

struct Line {
  unsigned role;
  const char* words;
};

// English first, then Spanish, Portuguese, French, Italian, German, Dutch, Scandinavian languages, Polish,
// Russian and Ukrainian, Turkish, Indonesian, Vietnamese (whose words are syllables), Arabic, Hindi.
constexpr Line kWords[] = {
    {kNoun,
     "answer ans solution response pick selection guess verdict conclusion result respuesta resposta réponse "
     "risposta antwort "
     "lösung antwoord svar svaret svaret odpowiedź odpowiedzią ответ ответом відповідь cevap cevabı yanıt "
     "yanıtı jawaban "
     "jawabannya án lời الإجابة الجواب إجابة उत्तर जवाब"},
    {kIntro,
     "option choice letter alternative opción alternativa letra opção lettre lettera opzione buchstabe "
     "möglichkeit optie "
     "keuze letter bokstav alternativet opcja вариант варіант буква букву пункт şıkkıdır seçenektir seçenek "
     "seçeneği şık şıkkı "
     "pilihan opsi "
     "huruf الخيار विकल्प scelta choix opción opcion opcao proposition inciso item"},
    {kPlural,
     "answers options choices letters alternatives solutions respuestas opciones alternativas respostas "
     "opções réponses "
     "risposte opzioni antworten optionen möglichkeiten antwoorden opties ответы варианты відповіді "
     "варіанти"},
    {kCopula,
     "is are 's be being was were equals becomes seems appears looks it's that's es son sea será sería é são "
     "seria est sont serait è sono sarebbe "
     "ist sind wäre lautet heißt är er være jest są это является є olur olacak adalah ialah là هي هو है "
     "c'est"},
    {kModal,
     "must should has have to would will can debe deve doit dovrebbe muss müsste soll moet should've need "
     "needs ought"},
    {kFiller,
     "the a an our my its their so-called clearly definitely indeed simply obviously certainly really truly "
     "evidently "
     "probably likely most final best correct right proper appropriate suitable single question even labeled "
     "labelled marked "
     "lettered number capital only in fact case of course la el lo los las una un le les une l il gli der "
     "die das den dem een "
     "het de den det correcta correcto correct correcte correta certa bonne corretta giusta esatta richtige "
     "richtig korrekte "
     "juiste rätt riktige poprawna prawidłowa правильный правильным верный верным правильна правильной doğru "
     "benar tepat đúng "
     "الصحيحة الصحيح सही o os as be"},
    {kChoose,
     "think believe say guess choose chose choosing select selected selecting pick picked picking mark "
     "answer circle elijo escojo selecciono elegimos "
     "elige escolho seleciono marco choisis choisir sélectionne scelgo scegliere seleziono wähle wählen "
     "entscheide kies "
     "väljer wybieram выбираю выбираем выбрать обираю seçiyorum seçerim pilih memilih chọn أختار"},
    {kConclude,
     "therefore so thus hence consequently accordingly conclusion summary short ergo finally overall "
     "entonces tanto luego así portanto logo assim "
     "donc ainsi alors quindi dunque pertanto allora also daher deshalb somit folglich dus daarom alltså "
     "altså więc zatem "
     "поэтому значит следовательно итак таким отже тому dolayısıyla jadi maka vậy إذن लिए"},
    {kNegation,
     "not isn't wasn't aren't won't cannot can't couldn't wouldn't shouldn't doesn't don't didn't never "
     "neither nor ain't "
     "isnt dont doesnt non nicht kein keine keiner pas jamais nunca não ne niet geen inte ikke nie не ні "
     "değil değildir bukan "
     "không phải-không ليست ليس नहीं ni no"},
    {kExclude,
     "than unlike over except excluding exclude excludes excluded eliminate eliminates eliminated "
     "eliminating "
     "reject rejects "
     "rejecting rejected discard discarding discarded dismiss dismissing dismissed avoid besides without "
     "versus vs "
     "statt anstatt anstelle außer excepto salvo descarto descartamos elimino eliminamos sauf éliminons "
     "éliminer escludo "
     "escludiamo кроме исключаем исключить behalve"},
    {kApprove,
     "correct right best accurate valid appropriate ✓ ✔ ✅ ☑ correcta correcto correcte exacte bonne juste "
     "corretta corretto "
     "giusta giusto esatta correta correto certa certo richtig richtige korrekt juist juiste goed rätt "
     "riktig riktigt "
     "poprawna poprawny prawidłowa правильный правильно правильная верный верно верен верна правильна "
     "правильно doğru "
     "doğrudur benar tepat đúng الصحيح الصحيحة सही cevaptır"},
    {kRefute,
     "wrong incorrect false invalid impossible incorrectly mistaken erroneous inaccurate flawed implausible "
     "fail fails failed ✗ ✘ ❌ "
     "incorrecta incorrecto falsa falso fausse faux mauvaise incorrecte sbagliata sbagliato errata errada "
     "errado falsch "
     "falsche fout foute fel felaktig feil błędna niepoprawna неправильный неправильно неверный неверно "
     "неверен неверна "
     "неправильна yanlış yanlıştır salah sai الخاطئة خاطئ गलत eliminated ruled excluded out"},
    {kDoubt,
     "might may could maybe perhaps possibly thought initially tempting tempted unlikely doubt mistakenly "
     "either whether "
     "believed assumed nobody friend classmate students student people others someone many podría podrían "
     "quizás quizá tal-vez "
     "poderia talvez pourrait peut peut-être potrebbe "
     "forse könnte vielleicht misschien kanske może возможно может möjligen belki mungkin trap distractor "
     "some"},
    {kCondition,
     "if unless assume assuming suppose supposing provided whenever si se wenn falls sofern als-ob если якщо "
     "eğer "
     "jika kalau nếu om "
     "jeśli إذا अगर"},
    {kReason,
     "because since as for while whereas which who where due owing given with by that although though when "
     "after porque pues "
     "ya puesto pois já car puisque parce perché poiché weil da denn omdat want eftersom fordi ponieważ "
     "потому так поскольку "
     "бо оскільки çünkü karena sebab vì ведь qui que che"},
    {kJoin,
     "and or plus & nor both y e o u ou et und oder en of och eller og i oraz lub и или та або чи ve veya ya "
     "dan atau và hoặc "
     "và و أو और या"},
    {kTurn,
     "but however rather instead actually yet sorry wait no correction sino pero mas senão porém mais ma "
     "bensì anzi sondern "
     "aber maar utan men lecz ale а но ama fakat tetapi tapi nhưng mà instead revised"},
    {kLink,
     "matches match matching corresponds corresponding namely i.e ie equals equal corresponde correspond "
     "entspricht "
     "corrisponde supports indicates select choosing conclude"},
    {kPronoun,
     "it this that which there c'est it's that's he she esto eso isto isso cela ça ce c questo es das dies "
     "dit dat det это це bu "
     "itu ini đó i'd"},
    {kOnly,
     "only just sole solely solo sólo solamente somente apenas seul seule seulement nur alleen bara tylko "
     "только лише"},
    {kAlso,
     "also too another alternatively equally likewise también também aussi anche auch ook också также тоже"},
    {kVerb,
     "works work fits fit satisfies satisfy holds remains remain stands makes does has had can must would "
     "will should cannot can't "
     "is isn't seems looks wins states says describes gives shows represents contains"},
    {kHarmless, "hard difficult surprising just long too immediately only obvious clear too doubt"},
    {kRest, "leaves leaving left leave remaining remains"},
};

std::unordered_map<std::string_view, unsigned> make_map() {
  std::unordered_map<std::string_view, unsigned> map;
  for (const Line& line : kWords) {
    std::string_view words = line.words;
    while (!words.empty()) {
      const size_t end = std::min(words.find(' '), words.size());
      if (end > 0) map[words.substr(0, end)] |= line.role;
      words.remove_prefix(std::min(end + 1, words.size()));
    }
  }
  return map;
}

}  // namespace

unsigned roles_of(std::string_view word) {
  static const std::unordered_map<std::string_view, unsigned> map = make_map();
  const auto found = map.find(word);
  return found == map.end() ? 0 : found->second;
}

}  // namespace cohort::choice
