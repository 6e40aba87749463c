"""BiGG ids with their ModelSEED ids, where published models have no annotation or a wrong one."""

from __future__ import annotations

from typing import Final

CORRECTED: Final = {
    "14glucan": ("cpd11735", "cpd21754"),
    "arab__L": ("cpd00224", "cpd19109", "cpd27351"),
    "but": ("cpd00211",),
    "cbi": ("cpd03422",),
    "cbl1": ("cpd00635",),
    "cd2": ("cpd01012",),
    "dca": ("cpd01107",),
    "ddca": ("cpd01741",),
    "f6p": ("cpd00072", "cpd19035"),
    "feenter": ("cpd03726",),
    "feoxam": ("cpd04761",),
    "fuc__L": ("cpd00751",),
    "glc__D": ("cpd00027", "cpd26821"),
    "glcr": ("cpd00609", "cpd00571"),
    "gln__L": ("cpd00053", "cpd00253"),
    "glu__L": ("cpd00023",),
    "hacolipa": ("cpd15482",),
    "hdcea": ("cpd05274", "cpd15237"),
    "lac__D": ("cpd00221",),
    "mal__L": ("cpd00130",),
    "melib": ("cpd03198",),
    "metsox_R__L": ("cpd15497", "cpd14720"),
    "metsox_S__L": ("cpd01914", "cpd14721", "cpd15498"),
    "ni2": ("cpd00244",),
    "no": ("cpd00418",),
    "o2": ("cpd00007",),
    "o2s": ("cpd00532",),
    "pheme": ("cpd00028",),
    "ppa": ("cpd00141",),
    "r5p": ("cpd00101", "cpd19028"),
    "ttdca": ("cpd03847",),
    "ttdcea": ("cpd15298",),
    "xylu__D": ("cpd00259",),
    "xylu__L": ("cpd00261",),
}
"""ModelSEED ids by BiGG id, the usual one first. They replace the annotations of the models that COBRApy ships, which
take oxygen for superoxide, D-xylulose for L-xylulose, and name no id for some fatty acids."""
