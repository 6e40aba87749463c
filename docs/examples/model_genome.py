# --8<-- [start:media]
import asyncio
from pathlib import Path
from typing import Any

from failsoft.tools.flux import Flux

SALTS = [
    "h2o",
    "h",
    "o2",
    "nh4",
    "pi",
    "so4",
    "k",
    "na1",
    "mg2",
    "ca2",
    "cl",
    "fe2",
    "fe3",
]
TRACES = ["zn2", "mn2", "cu2", "cobalt2", "mobd", "ni2"]
FOODS = {
    "glucose": "glc__D",
    "glycerol": "glyc",
    "lactate": "lac__D",
    "succinate": "succ",
    "acetate": "ac",
}
KNOCK_OUTS = {"pgi": "b4025", "gltA": "b0720", "icd": "b1136", "sdhC": "b0721"}
# --8<-- [end:media]


# --8<-- [start:main]
async def main() -> None:
    flux = Flux(root=Path.cwd())

    async def call(tool: str, **arguments: Any) -> dict[str, Any]:
        """Return what a tool answers, or stop with its error."""
        answer = await flux.execute_with_error_handling(tool, arguments)
        if not answer.success:
            raise SystemExit(answer.to_dict()["message"])
        return answer.data or {}

    # --8<-- [end:main]

    # --8<-- [start:draft]
    draft = await call(
        "build_model", fasta_path="k12.faa", template="GramNegative", skip_invalid=True
    )
    print(
        "left out:",
        draft["num_left_out"],
        "proteins, the first",
        draft["left_out"][0]["id"],
    )
    print(f"draft: {draft['num_reactions']} reactions, {draft['num_genes']} genes")
    # --8<-- [end:draft]

    # --8<-- [start:fill]
    media = {}
    for name, food in FOODS.items():
        bounds = {food: [-10, 1000]}
        compounds = [*SALTS, *TRACES, food]
        medium = await call(
            "build_media",
            compounds=compounds,
            default_uptake=1000,
            custom_bounds=bounds,
        )
        media[name] = medium["media_id"]
    filled = await call(
        "gapfill_model",
        model_id=draft["model_id"],
        media_id=media["glucose"],
        target_growth=0.1,
    )
    model_id = filled["model_id"]
    added, growth = filled["num_reactions_added"], filled["growth_after"]
    print(f"gap filling: {added} reactions, growth {growth:.2f} per hour")
    # --8<-- [end:fill]

    # --8<-- [start:table]
    strains = {"wild type": model_id}
    for gene, locus in KNOCK_OUTS.items():
        strains[gene] = (
            await call("modify_model", model_id=model_id, knock_out_genes=[locus])
        )["model_id"]
    print(f"{'':10}", *(f"{name:>9}" for name in media))
    reasons: list[str] = []
    for strain, its_id in strains.items():
        table = await call(
            "growth_on_media", model_id=its_id, media_ids=list(media.values())
        )
        print(f"{strain:10}", *(f"{row['growth']:9.2f}" for row in table["results"]))
        reasons += [
            row["reason"].split(": ")[-1]
            for row in table["results"]
            if not row["growth"]
        ]
    print("sdhC:", reasons[-1])
    # --8<-- [end:table]

    # --8<-- [start:product]
    polymer = {
        "id": "phb_c",
        "name": "3-hydroxybutyrate unit",
        "formula": "C4H6O2",
        "charge": 0,
    }
    made = {
        "id": "PHBS",
        "equation": "2 accoa_c + nadph_c + h_c --> phb_c + 2 coa_c + nadp_c",
    }
    taken = {"id": "DM_phb_c", "equation": "phb_c -->"}
    maker = await call(
        "modify_model",
        model_id=model_id,
        add_metabolites=[polymer],
        add_reactions=[made, taken],
    )
    envelope = await call(
        "production_envelope",
        model_id=maker["model_id"],
        reactions=["Growth"],
        objective="DM_phb_c",
        media_id=media["glucose"],
        points=5,
    )
    for point in envelope["results"]:
        yields = point.get("carbon_yield_maximum", 0.0)
        growth, rate = point["fluxes"]["Growth"], point["maximum"]
        print(f"growth {growth:.2f}: at most {rate:5.2f} mmol/gDW/h, {yields:.2f} C/C")
    # --8<-- [end:product]

    # --8<-- [start:export]
    written = await call(
        "export_model", model_id=model_id, format="sbml", path="k12.xml"
    )
    print(written["path"], "is written")
    await flux.shutdown()
    # --8<-- [end:export]


asyncio.run(main())
