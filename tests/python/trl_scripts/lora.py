"""After TRL's page on PEFT: adapters on a loaded model, with the learning rate that it recommends for them."""

from datasets import Dataset
from peft import LoraConfig
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import GRPOConfig, GRPOTrainer

peft_config = LoraConfig(
    r=32,
    lora_alpha=16,
    lora_dropout=0.05,
    bias="none",
    task_type="CAUSAL_LM",
)
training_args = GRPOConfig(
    output_dir="lora", learning_rate=1.0e-5, max_completion_length=16, max_steps=3, logging_steps=1
)
trainer = GRPOTrainer(
    model=AutoModelForCausalLM.from_pretrained("models/tiny"),
    reward_funcs=lambda completions, **kwargs: [float(len(completion)) for completion in completions],
    args=training_args,
    train_dataset=Dataset.from_dict({"prompt": ["Once", "There was", "In a land"]}),
    processing_class=AutoTokenizer.from_pretrained("models/tiny"),
    peft_config=peft_config,
)
trainer.train()
trainer.save_model("lora-adapter")
