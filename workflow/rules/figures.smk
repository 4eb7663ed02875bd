"""One job a figure: SVG and PNG, with its data as CSV."""


rule figure:
    input:
        tables=multiext(f"{RESULTS}/", "metrics.parquet", "comparisons.parquet", "ceiling_gaps.parquet"),
        histories=every_run(f"{RUN}/history.parquet"),
        audits=every_cell(AUDIT),
    output:
        svg=report(
            f"{RESULTS}/figures/{{figure}}.svg",
            caption="../report/{figure}.rst",
            category="Figures",
            labels={"figure": "{figure}"},
        ),
        png=f"{RESULTS}/figures/{{figure}}.png",
        csv=f"{RESULTS}/figures/{{figure}}.csv",
    log:
        f"{RESULTS}/logs/figure/{{figure}}.log",
    conda:
        "maskstudy"
    params:
        source=lambda wildcards: source_digest("figure", f"figures.{wildcards.figure}"),
        settings=study_settings("confirmatory", "statistics"),
        results=subpath(output.svg, ancestor=2),
    message:
        "figure {wildcards.figure}"
    shell:
        "maskstudy figure {wildcards.figure} --settings {params.settings:q} --results {params.results} > {log} 2>&1"
