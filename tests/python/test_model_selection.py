"""The choice of atoms and penalty is that of the estimator."""

import numpy as np

import pacewise
from pacewise import SelfPacedSparseCoder, model_selection


def test_choice_is_the_estimators():
    """Data of 4 atoms without noise: 2 cannot hold them."""
    data = pacewise.datasets.synthetic(120, 20, 1, corrupted=0.0, random_state=0).clean
    coder = SelfPacedSparseCoder(level="none", graph="none", normalize="none", tol=1e-3, random_state=0)
    choice = model_selection.choose_by_held_out_entries(coder, data)
    assert choice.params["n_components"] == choice.estimator.n_components_ >= 4 and not hasattr(coder, "components_")
    assert [row["error"] for row in choice.table] == sorted(row["error"] for row in choice.table)
    assert choice.table[0]["error"] < 0.5 * choice.table[-1]["error"]
    auto = coder.set_params(n_components="auto", beta="auto").fit(data)
    np.testing.assert_array_equal(auto.codes_, choice.estimator.codes_)
