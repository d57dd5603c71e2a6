"""After TRL's index of papers: the settings of thirteen papers, with small batches and short completions."""

from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

SMALL = dict(
    per_device_train_batch_size=4, num_generations=4, max_completion_length=12, max_steps=4, logging_steps=1
)
PAPERS = {
    "2402.03300": dict(
        loss_type="grpo", beta=0.001, epsilon=10.0, steps_per_generation=2, gradient_accumulation_steps=2
    ),
    "2501.12948": dict(learning_rate=4.0e-5, beta=0.001, use_vllm=True),
    "2507.18071": dict(
        importance_sampling_level="sequence",
        loss_type="grpo",
        beta=0.0,
        epsilon=3e-4,
        epsilon_high=4e-4,
        gradient_accumulation_steps=1,
        steps_per_generation=4,
    ),
    "2505.07291": dict(delta=4, epsilon=0.2, beta=0.001, learning_rate=3e-7),
    "2505.22312": dict(
        use_adaptive_entropy=True, entropy_coef=0.01, entropy_target=5.0, entropy_coef_delta=0.005
    ),
    "2506.01939": dict(
        mask_truncated_completions=True,
        loss_type="dapo",
        epsilon_high=0.28,
        epsilon=0.2,
        top_entropy_quantile=0.2,
    ),
    "2503.20783": dict(loss_type="dr_grpo", beta=0.0),
    "2508.08221": dict(
        scale_rewards="batch", loss_type="dapo", beta=0.0, top_p=0.99, top_k=100, temperature=0.99
    ),
    "2511.20347": dict(
        loss_type="sapo", sapo_temperature_pos=1.0, sapo_temperature_neg=1.05, scale_rewards="group"
    ),
    "2512.02556": dict(beta=0.001, use_bias_correction_kl=True, off_policy_mask_threshold=0.5),
    "2601.05242": dict(multi_objective_aggregation="normalize_then_sum"),
    "2602.05261": dict(
        loss_type="luspo", importance_sampling_level="sequence", epsilon=2e-3, epsilon_high=2.5e-3
    ),
    "2602.10693": dict(
        loss_type="vespo",
        use_vllm=True,
        vllm_importance_sampling_mode="token_truncate",
        vespo_k_pos=2.0,
        vespo_lambda_pos=3.0,
        vespo_k_neg=3.0,
        vespo_lambda_neg=2.0,
    ),
}

dataset = Dataset.from_dict({"prompt": ["Count:", "Sing:", "Rhyme:", "Draw:"]})


def variety(completions, **kwargs):
    return [float(len(set(completion))) for completion in completions]


def brevity(completion_ids, **kwargs):
    return [-float(len(ids)) for ids in completion_ids]


trainers = {}
for paper, settings in PAPERS.items():
    training_args = GRPOConfig(
        output_dir=f"papers/{paper}",
        **(SMALL | settings),
    )
    trainer = GRPOTrainer(
        model="models/tiny", reward_funcs=[variety, brevity], args=training_args, train_dataset=dataset
    )
    trainer.train()
    trainers[paper] = trainer
