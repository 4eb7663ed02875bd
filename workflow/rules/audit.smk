"""Does any scored position see its own answer? Nothing trains before its cell has passed.

One rule a task, for it judges all masks of the task at once: most of the time of a job goes into starting up.
"""


rule audit:
    input:
        every_cell(AUDIT),
    localrule: True
    message:
        "audit: the verdict on every cell"


for task in TASKS:

    rule:
        name:
            f"audit_{task}"
        input:
            train=f"{RESULTS}/data/{task}/train.parquet",
            validation=f"{RESULTS}/data/{task}/validation.parquet",
            test=f"{RESULTS}/data/{task}/test.parquet",
        output:
            verdicts=[f"{RESULTS}/audit/{task}/{cell.mask}.json" for cell in CELLS if cell.task == task],
        log:
            f"{RESULTS}/logs/audit/{task}.log",
        conda:
            "../../environment.yml"
        threads: 1
        params:
            task=task,
            source=task_source("audit", task),
            settings=audit_settings(task),
            data=subpath(input.test, parent=True),
            folder=lambda wildcards, output: str(Path(output[0]).parent),
        message:
            "audit {params.task}: does any scored position see its answer?"
        shell:
            "maskstudy audit --settings {params.settings:q} --data {params.data} --out {params.folder} > {log} 2>&1"
