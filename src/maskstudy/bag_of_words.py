"""The baseline of classification: logistic regression on which words stand in a text, wherever they stand.

Only the verb that needs it imports this module: scikit-learn takes half a second, and no training needs it.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression

from maskstudy.errors import StudyError
from maskstudy.tasks.task import Examples

PENALTY = 0.3  # on the squared weights, halved: of .03, .1, .3, 1, 3 the best on TREC's validation questions, in nats


def class_log_probabilities(train: Examples, test: Examples, words: int, classes: int) -> NDArray[np.float64]:
    """The class of every example, by multinomial logistic regression on 0/1 features, one a word.

    Its probabilities are mixed with the uniform distribution as if one example more had been seen that is of every
    class a little, so that a class that is not in `train` has a probability too.

    Args:
        train: examples with one scored position each.
        test: the same.
        words: tokens 0 … `words` are features; those above it, edges and padding, are none.
        classes: number of possible answers.

    Returns:
        `[test examples, classes]` natural log-probabilities, all finite.

    Raises:
        StudyError: all of `train` is of one class.
    """
    answers = train.targets[train.scored]
    if len(np.unique(answers)) < 2:
        raise StudyError("baseline: all train examples are of one class; nothing can be learned from them")
    model = LogisticRegression(C=1 / PENALTY, max_iter=1000).fit(_bag(train, words), answers)
    probabilities = np.full((len(test), classes), 1 / classes)
    probabilities[:, model.classes_] += len(train) * model.predict_proba(_bag(test, words))
    return np.log(probabilities / (len(train) + 1))


def _bag(examples: Examples, words: int) -> csr_array:
    """`[examples, words + 1]`: 1 where the token stands in the example."""
    rows, places = np.nonzero(examples.tokens <= words)
    pairs = np.unique(np.stack([rows, examples.tokens[rows, places]]), axis=1)
    return csr_array((np.ones(pairs.shape[1]), pairs), shape=(len(examples), words + 1))
