"""One rule a figure, for each has its own caption: SVG and PNG, with its data as CSV."""

for figure in config["figures"]:

    rule:
        name:
            f"figure_{figure}"
        input:
            tables=multiext(
                f"{RESULTS}/", "metrics.parquet", "tuning.parquet", "comparisons.parquet", "ceiling_gaps.parquet"
            ),
            histories=every_run(f"{RUN}/history.parquet"),
            audits=every_cell(AUDIT),
            generated=GENERATED if figure == "leak" else [],
            samples=f"{RESULTS}/examples.parquet" if figure == "samples" else [],
            swaps=f"{RESULTS}/swaps.parquet" if figure == "mask_swap" else [],
            representations=f"{RESULTS}/representations.parquet" if figure == "representations" else [],
        output:
            svg=report(
                f"{RESULTS}/figures/{figure}.svg",
                caption=f"../report/{figure}.rst",
                category="Figures",
                labels={"figure": figure},
            ),
            png=f"{RESULTS}/figures/{figure}.png",
            csv=f"{RESULTS}/figures/{figure}.csv",
        log:
            f"{RESULTS}/logs/figure/{figure}.log",
        conda:
            "../../environment.yml"
        params:
            figure=figure,
            source=FIGURE_SOURCE[figure],
            settings=study_settings("confirmatory", "statistics"),
            results=subpath(output.svg, ancestor=2),
        message:
            "figure {params.figure}"
        shell:
            "maskstudy figure {params.figure} --settings {params.settings:q} --results {params.results} > {log} 2>&1"
