"""Causal vs full attention: the whole study, from raw data to paper. `snakemake --cores 8` makes everything."""

from snakemake.utils import min_version

min_version("9.27")


configfile: "config.yaml"


include: "workflow/rules/common.smk"
include: "workflow/rules/fetch.smk"
include: "workflow/rules/prepare.smk"
include: "workflow/rules/audit.smk"
include: "workflow/rules/tune.smk"
include: "workflow/rules/train.smk"
include: "workflow/rules/evaluate.smk"
include: "workflow/rules/compare.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/explain.smk"
include: "workflow/rules/report.smk"


report: "workflow/report/workflow.rst"


rule all:
    default_target: True
    input:
        rules.report.input,
        every_run(f"{RUN}/model.safetensors"),  # a run that was lost is made again, even where its tables are there
        every_run(f"{RUN}/history.parquet"),
        every_run(f"{RUN}/metrics.json"),
        every_run(f"{RUN}/examples.parquet"),
        f"{RESULTS}/examples.parquet",
        GENERATED,
        DECODED,
