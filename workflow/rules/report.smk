"""What a reader gets: the paper, and Snakemake's report with every figure and its caption."""


rule paper:
    input:
        tables=multiext(
            f"{RESULTS}/",
            "metrics.parquet",
            "timing.parquet",
            "audit.parquet",
            "tuning.parquet",
            "comparisons.parquet",
            "effects.parquet",
            "ceiling_gaps.parquet",
            "swaps.parquet",
            "representations.parquet",
        ),
        supervision=SUPERVISION,
        generated=GENERATED,
        decoded=DECODED,
        figures=FIGURES,
    output:
        paper=f"{RESULTS}/paper.pdf",
        tables=directory(f"{RESULTS}/tables"),
    log:
        f"{RESULTS}/logs/paper.log",
    conda:
        "../../environment.yml"
    params:
        source=source_digest("paper", *(f"figures.{name}" for name in config["figures"]), files=("report/paper.typ",)),
        settings=study_settings(
            "confirmatory",
            "statistics",
            "figures",
            "tuning",
            questions=QUESTIONS,
            published=PUBLISHED,
            supervision=SUPERVISED,
            written=WRITTEN,
            texts=GENERATIVE,
            unordered=[task for task in TASKS if study.model_settings(config, task)["positions"] == "none"],
        ),
        results=subpath(output.paper, parent=True),
    message:
        "paper: tables and paper.pdf"
    shell:
        "maskstudy paper --settings {params.settings:q} --results {params.results} > {log} 2>&1"


rule settings:
    output:
        settings=f"{RESULTS}/config.yaml",
    log:
        f"{RESULTS}/logs/settings.log",
    localrule: True
    conda:
        "../../environment.yml"
    params:
        text=json.dumps(config, indent=1),
    message:
        "settings: the whole config that made these results"
    shell:
        "printf '%s\\n' {params.text:q} > {output.settings} 2> {log}"


rule html_report:
    input:
        settings=f"{RESULTS}/config.yaml",
        paper=f"{RESULTS}/paper.pdf",
        figures=FIGURES,
        captions=[workflow_file(f"workflow/report/{name}.rst") for name in ("workflow", *config["figures"])],
    output:
        html=f"{RESULTS}/report.html",
    log:
        f"{RESULTS}/logs/html_report.log",
    localrule: True
    conda:
        "../../environment.yml"
    params:
        snakefile=workflow_file("Snakefile"),
    message:
        "html_report: Snakemake's report with every figure and its caption"
    shell:
        "snakemake --snakefile {params.snakefile:q} --configfile {input.settings} --nolock"
        " --report {output.html} -- {input.paper} {input.figures} > {log} 2>&1"


rule report:
    input:
        paper=f"{RESULTS}/paper.pdf",
        page=f"{RESULTS}/explainer.html" if EXPLAINED else [],
        html=f"{RESULTS}/report.html",
    localrule: True
    message:
        "report: {input}"
