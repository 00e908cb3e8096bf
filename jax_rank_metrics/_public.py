"""The public names, which `__init__` loads from here when the first one is used."""

from jax_rank_metrics import compat as compat
from jax_rank_metrics import plots as plots
from jax_rank_metrics import testing as testing
from jax_rank_metrics._check.check import check as check
from jax_rank_metrics._engine.calls.evaluate import empty as empty
from jax_rank_metrics._engine.calls.evaluate import evaluate as evaluate
from jax_rank_metrics._engine.calls.evaluate import measure as measure
from jax_rank_metrics._engine.calls.sampled_labels import SampledLabels as SampledLabels
from jax_rank_metrics._engine.calls.sampled_labels import (
    sampled_labels as sampled_labels,
)
from jax_rank_metrics._engine.calls.signatures import Signature as Signature
from jax_rank_metrics._engine.calls.signatures import from_signature as from_signature
from jax_rank_metrics._engine.calls.signatures import signature as signature
from jax_rank_metrics._engine.formulas.adjusted_for_chance import (
    adjusted_hit_rate as adjusted_hit_rate,
)
from jax_rank_metrics._engine.formulas.adjusted_for_chance import (
    adjusted_mean_rank_index as adjusted_mean_rank_index,
)
from jax_rank_metrics._engine.formulas.adjusted_for_chance import (
    adjusted_reciprocal_rank as adjusted_reciprocal_rank,
)
from jax_rank_metrics._engine.formulas.catalog_exposure import exposure as exposure
from jax_rank_metrics._engine.formulas.counts import judged as judged
from jax_rank_metrics._engine.formulas.counts import (
    num_nonrelevant_retrieved as num_nonrelevant_retrieved,
)
from jax_rank_metrics._engine.formulas.counts import num_relevant as num_relevant
from jax_rank_metrics._engine.formulas.counts import (
    num_relevant_retrieved as num_relevant_retrieved,
)
from jax_rank_metrics._engine.formulas.counts import num_retrieved as num_retrieved
from jax_rank_metrics._engine.formulas.cumulated_gain import cg as cg
from jax_rank_metrics._engine.formulas.cumulated_gain import dcg as dcg
from jax_rank_metrics._engine.formulas.cumulated_gain import ndcg as ndcg
from jax_rank_metrics._engine.formulas.cwl import insq as insq
from jax_rank_metrics._engine.formulas.cwl import inst as inst
from jax_rank_metrics._engine.formulas.cwl import time_biased_gain as time_biased_gain
from jax_rank_metrics._engine.formulas.diversity import (
    intra_list_diversity as intra_list_diversity,
)
from jax_rank_metrics._engine.formulas.early_recognition import bedroc as bedroc
from jax_rank_metrics._engine.formulas.early_recognition import (
    enrichment_factor as enrichment_factor,
)
from jax_rank_metrics._engine.formulas.early_recognition import log_auc as log_auc
from jax_rank_metrics._engine.formulas.early_recognition import rie as rie
from jax_rank_metrics._engine.formulas.exposure_fairness import (
    attention_weighted_rank_fairness as attention_weighted_rank_fairness,
)
from jax_rank_metrics._engine.formulas.exposure_fairness import (
    expected_exposure as expected_exposure,
)
from jax_rank_metrics._engine.formulas.exposure_fairness import ndkl as ndkl
from jax_rank_metrics._engine.formulas.exposure_parity import (
    disparate_impact_ratio as disparate_impact_ratio,
)
from jax_rank_metrics._engine.formulas.exposure_parity import (
    disparate_treatment_ratio as disparate_treatment_ratio,
)
from jax_rank_metrics._engine.formulas.exposure_parity import (
    exposure_parity as exposure_parity,
)
from jax_rank_metrics._engine.formulas.first_hit import hit_rate as hit_rate
from jax_rank_metrics._engine.formulas.first_hit import (
    reciprocal_rank as reciprocal_rank,
)
from jax_rank_metrics._engine.formulas.goals import (
    bejeweled_player_model as bejeweled_player_model,
)
from jax_rank_metrics._engine.formulas.goals import (
    information_foraging as information_foraging,
)
from jax_rank_metrics._engine.formulas.group_exposures import (
    group_exposure as group_exposure,
)
from jax_rank_metrics._engine.formulas.group_recall import group_recall as group_recall
from jax_rank_metrics._engine.formulas.hits import f_score as f_score
from jax_rank_metrics._engine.formulas.hits import fall_out as fall_out
from jax_rank_metrics._engine.formulas.hits import full_recall as full_recall
from jax_rank_metrics._engine.formulas.hits import precision as precision
from jax_rank_metrics._engine.formulas.hits import r_precision as r_precision
from jax_rank_metrics._engine.formulas.hits import recall as recall
from jax_rank_metrics._engine.formulas.hits import (
    set_average_precision as set_average_precision,
)
from jax_rank_metrics._engine.formulas.hits import utility as utility
from jax_rank_metrics._engine.formulas.incomplete_judgements import bpref as bpref
from jax_rank_metrics._engine.formulas.incomplete_judgements import (
    inferred_average_precision as inferred_average_precision,
)
from jax_rank_metrics._engine.formulas.incomplete_judgements import residual as residual
from jax_rank_metrics._engine.formulas.intents import (
    average_precision_ia as average_precision_ia,
)
from jax_rank_metrics._engine.formulas.intents import err_ia as err_ia
from jax_rank_metrics._engine.formulas.intents import precision_ia as precision_ia
from jax_rank_metrics._engine.formulas.interpolated import (
    eleven_point_precision as eleven_point_precision,
)
from jax_rank_metrics._engine.formulas.interpolated import (
    interpolated_precision as interpolated_precision,
)
from jax_rank_metrics._engine.formulas.interpolated import (
    precision_at_multiples as precision_at_multiples,
)
from jax_rank_metrics._engine.formulas.multilabel import (
    coverage_error as coverage_error,
)
from jax_rank_metrics._engine.formulas.multilabel import (
    label_ranking_average_precision as label_ranking_average_precision,
)
from jax_rank_metrics._engine.formulas.multilabel import (
    label_ranking_loss as label_ranking_loss,
)
from jax_rank_metrics._engine.formulas.nearest_neighbors import (
    neighbor_recall as neighbor_recall,
)
from jax_rank_metrics._engine.formulas.ntcir import o_measure as o_measure
from jax_rank_metrics._engine.formulas.ntcir import p_plus as p_plus
from jax_rank_metrics._engine.formulas.ntcir import q_measure as q_measure
from jax_rank_metrics._engine.formulas.order_agreement import gauc as gauc
from jax_rank_metrics._engine.formulas.order_agreement import (
    ordered_pair_accuracy as ordered_pair_accuracy,
)
from jax_rank_metrics._engine.formulas.order_agreement import rho as rho
from jax_rank_metrics._engine.formulas.order_agreement import roc_auc as roc_auc
from jax_rank_metrics._engine.formulas.order_agreement import tau as tau
from jax_rank_metrics._engine.formulas.pooled_metrics import (
    pooled_average_precision as pooled_average_precision,
)
from jax_rank_metrics._engine.formulas.pooled_metrics import (
    pooled_roc_auc as pooled_roc_auc,
)
from jax_rank_metrics._engine.formulas.popularity import novelty as novelty
from jax_rank_metrics._engine.formulas.popularity import popularity as popularity
from jax_rank_metrics._engine.formulas.positions import (
    average_precision as average_precision,
)
from jax_rank_metrics._engine.formulas.positions import (
    average_relevance_position as average_relevance_position,
)
from jax_rank_metrics._engine.formulas.positions import (
    inverse_negative_penalty as inverse_negative_penalty,
)
from jax_rank_metrics._engine.formulas.positions import map_at_r as map_at_r
from jax_rank_metrics._engine.formulas.profiles import miscalibration as miscalibration
from jax_rank_metrics._engine.formulas.profiles import (
    popularity_lift as popularity_lift,
)
from jax_rank_metrics._engine.formulas.propensity_scored import (
    label_propensities as label_propensities,
)
from jax_rank_metrics._engine.formulas.propensity_scored import (
    propensity_scored_ndcg as propensity_scored_ndcg,
)
from jax_rank_metrics._engine.formulas.propensity_scored import (
    propensity_scored_precision as propensity_scored_precision,
)
from jax_rank_metrics._engine.formulas.propensity_scored import (
    propensity_scored_recall as propensity_scored_recall,
)
from jax_rank_metrics._engine.formulas.serendipity import serendipity as serendipity
from jax_rank_metrics._engine.formulas.subtopics import alpha_dcg as alpha_dcg
from jax_rank_metrics._engine.formulas.subtopics import alpha_ndcg as alpha_ndcg
from jax_rank_metrics._engine.formulas.subtopics import nrbp as nrbp
from jax_rank_metrics._engine.formulas.subtopics import (
    subtopic_recall as subtopic_recall,
)
from jax_rank_metrics._engine.formulas.two_rankings import jaccard as jaccard
from jax_rank_metrics._engine.formulas.two_rankings import kendall_tau as kendall_tau
from jax_rank_metrics._engine.formulas.two_rankings import overlap as overlap
from jax_rank_metrics._engine.formulas.two_rankings import (
    rank_biased_overlap as rank_biased_overlap,
)
from jax_rank_metrics._engine.formulas.two_rankings import spearman_rho as spearman_rho
from jax_rank_metrics._engine.formulas.user_models import (
    expected_reciprocal_rank as expected_reciprocal_rank,
)
from jax_rank_metrics._engine.formulas.user_models import (
    rank_biased_precision as rank_biased_precision,
)
from jax_rank_metrics._engine.metrics.metric import Metric as Metric
from jax_rank_metrics._engine.metrics.metric import metric as metric
from jax_rank_metrics._engine.places.place import Place as Place
from jax_rank_metrics._engine.places.place import positions as positions
from jax_rank_metrics._engine.places.repeats import repeated as repeated
from jax_rank_metrics._engine.places.soft_places import sigmoid_ranks as sigmoid_ranks
from jax_rank_metrics._engine.ranking import Items as Items
from jax_rank_metrics._engine.ranking import Ranking as Ranking
from jax_rank_metrics._engine.sources.attributes import by_attributes as by_attributes
from jax_rank_metrics._engine.sources.catalog import rank_catalog as rank_catalog
from jax_rank_metrics._engine.sources.catalog import rank_scores as rank_scores
from jax_rank_metrics._engine.sources.places import rank_places as rank_places
from jax_rank_metrics._engine.sources.rank import rank as rank
from jax_rank_metrics._engine.sources.retrieved import rank_ids as rank_ids
from jax_rank_metrics._engine.sources.retrieved import rank_retrieved as rank_retrieved
from jax_rank_metrics._engine.sources.tokens import Tokens as Tokens
from jax_rank_metrics._engine.states.exposure import Exposure as Exposure
from jax_rank_metrics._engine.states.group_exposure import (
    GroupExposure as GroupExposure,
)
from jax_rank_metrics._engine.states.pooled import (
    PooledAveragePrecision as PooledAveragePrecision,
)
from jax_rank_metrics._engine.states.pooled import PooledRocAuc as PooledRocAuc
from jax_rank_metrics._ground.gains import exponential_gain as exponential_gain
from jax_rank_metrics._ground.gains import linear_gain as linear_gain
from jax_rank_metrics._ground.gains import log2_discount as log2_discount
from jax_rank_metrics._ground.gains import log2_rank_discount as log2_rank_discount
from jax_rank_metrics._ground.gains import log_discount as log_discount
from jax_rank_metrics._ground.gains import reciprocal_discount as reciprocal_discount
from jax_rank_metrics._ground.inputs.list_ids import hash_ids as hash_ids
from jax_rank_metrics._ground.inputs.list_ids import pack as pack
from jax_rank_metrics._ground.inputs.padding import pad_lists as pad_lists
from jax_rank_metrics._ground.shares import share as share
from jax_rank_metrics._runs.drivers.evaluate_embeddings import (
    evaluate_embeddings as evaluate_embeddings,
)
from jax_rank_metrics._runs.drivers.evaluate_links import (
    LinkEvaluation as LinkEvaluation,
)
from jax_rank_metrics._runs.drivers.evaluate_links import (
    evaluate_links as evaluate_links,
)
from jax_rank_metrics._runs.drivers.evaluate_scored import (
    evaluate_scored as evaluate_scored,
)
from jax_rank_metrics._runs.drivers.evaluate_users import (
    UserEvaluation as UserEvaluation,
)
from jax_rank_metrics._runs.drivers.evaluate_users import (
    evaluate_users as evaluate_users,
)
from jax_rank_metrics._runs.evaluation import Evaluation as Evaluation
from jax_rank_metrics._runs.files.join import join as join
from jax_rank_metrics._runs.files.joined import Joined as Joined
from jax_rank_metrics._runs.files.read import read_qrels as read_qrels
from jax_rank_metrics._runs.files.read import read_run as read_run
from jax_rank_metrics._values.histogram import Histogram as Histogram
from jax_rank_metrics._values.mean import GeometricMean as GeometricMean
from jax_rank_metrics._values.mean import Mean as Mean
from jax_rank_metrics._values.merging import all_reduce as all_reduce
from jax_rank_metrics._values.merging import compute as compute
from jax_rank_metrics._values.merging import mean as mean
from jax_rank_metrics._values.merging import merge as merge
from jax_rank_metrics._values.merging import reduce as reduce
from jax_rank_metrics._values.per_list import PerList as PerList
from jax_rank_metrics._verdicts.comparisons.compare import compare as compare
from jax_rank_metrics._verdicts.comparisons.comparisons import Comparison as Comparison
from jax_rank_metrics._verdicts.comparisons.comparisons import (
    Comparisons as Comparisons,
)
from jax_rank_metrics._verdicts.comparisons.leaderboard import (
    leaderboard as leaderboard,
)
from jax_rank_metrics._verdicts.comparisons.power import lists_needed as lists_needed
from jax_rank_metrics._verdicts.comparisons.power import (
    minimum_detectable as minimum_detectable,
)
from jax_rank_metrics._verdicts.comparisons.standings import Leaderboard as Leaderboard
from jax_rank_metrics._verdicts.comparisons.standings import Stability as Stability
from jax_rank_metrics._verdicts.comparisons.standings import tau_ap as tau_ap
from jax_rank_metrics._verdicts.inference.bootstrap import Bootstrap as Bootstrap
from jax_rank_metrics._verdicts.inference.bootstrap import bootstrap as bootstrap
from jax_rank_metrics._verdicts.inference.judges import (
    PredictionPowered as PredictionPowered,
)
from jax_rank_metrics._verdicts.systems.differences import paired as paired
from jax_rank_metrics._verdicts.systems.prediction_powered import (
    prediction_powered as prediction_powered,
)
from jax_rank_metrics._verdicts.systems.reading import Seeds as Seeds
from jax_rank_metrics._verdicts.systems.reading import Systems as Systems
from jax_rank_metrics._verdicts.systems.seeds import Interval as Interval
from jax_rank_metrics._verdicts.systems.seeds import SeedSummary as SeedSummary
from jax_rank_metrics._verdicts.tables.table import table as table
from jax_rank_metrics._verdicts.tables.to_frame import to_frame as to_frame
