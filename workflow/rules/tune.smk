"""Equal tuning: every cell chooses its learning rates from the same grid, with seeds that are never reported."""


rule tune:
    input:
        train=f"{DATA}/train.parquet",
        validation=f"{DATA}/validation.parquet",
        audit=AUDIT,
    output:
        tuning=TUNING,
    log:
        f"{RESULTS}/logs/tune/{{task}}/{{mask}}.log",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=1024,
        gpu=0 if config["device"] == "cpu" else 1,
    params:
        source=lambda wildcards: task_source("tune", wildcards.task),
        settings=lambda wildcards: cell_settings(wildcards, "model", "training", "tuning", "device"),
        data=subpath(input.train, parent=True),
    message:
        "tune {wildcards.task} under {wildcards.mask}: learning rates, on validation data; follow it in {log}"
    shell:
        "maskstudy tune --settings {params.settings:q} --data {params.data}"
        " --audit {input.audit} --out {output.tuning} > {log} 2>&1"


onsuccess:
    for path in map(Path, every_cell(TUNING)):
        if path.is_file() and (found := read_json(path))["at_edge"]:
            print(
                f"warning: {found['task']} under {found['mask']} learned best at the edge of the grid, at"
                f" {found['chosen']:g} times the declared rates; widen tuning.scales in config.yaml",
                file=sys.stderr,
            )
