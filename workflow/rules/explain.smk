"""The page to play with: trained models of seed 0 and what the study found, in one HTML file."""


rule explain:
    input:
        names=[f"{RESULTS}/data/{cell.task}/summary.json" for cell in EXPLAINED if cell.mask == models.ENCODER_DECODER],
        weights=[f"{RESULTS}/runs/{cell.task}/{cell.mask}/seed-0/model.safetensors" for cell in EXPLAINED],
        tables=multiext(f"{RESULTS}/", "metrics.parquet", "comparisons.parquet"),
        metrics=every_run(f"{RUN}/metrics.json"),
        references=every_cell(f"{RESULTS}/references/{{task}}/{{mask}}.json"),
        generated=GENERATED,
    output:
        page=f"{RESULTS}/explainer.html",
    log:
        f"{RESULTS}/logs/explain.log",
    conda:
        "../../environment.yml"
    params:
        source=source_digest("explain", *(f"tasks.{kind}" for kind in EXPLAINED_KINDS), files=SOURCES),
        settings=study_settings("confirmatory", "statistics"),
        results=subpath(output.page, parent=True),
        names=lambda wildcards, input: f"--names {input.names}" if input.names else "",
    message:
        "explain: the page to play with"
    shell:
        "maskstudy explain --settings {params.settings:q} --results {params.results}"
        " {params.names} --weights {input.weights:q} --out {output.page} > {log} 2>&1"
