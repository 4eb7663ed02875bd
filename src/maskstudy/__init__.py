"""Causal vs full attention: who can see which token, and what does that change?

The parts, in the order in which a number is made:

    masks -> attention -> model          who may attend to whom, and the transformer that obeys
    tasks -> data                        what is asked, and the prepared examples
    audit                                does any scored position see its own answer?
    training -> evaluation               one run: one (task, mask, seed)
    statistics -> figures, report        paired seeds, intervals, pictures, the paper
    commands -> cli                      the edge: files in, files out, one verb a rule
"""
