package io.pyqbeast;

import io.pyqbeast.catalog.CheckedSave;
import io.pyqbeast.catalog.IndexFunction;
import io.pyqbeast.catalog.IndexedLike;
import io.pyqbeast.catalog.IndexedOverwrite;
import io.pyqbeast.catalog.SavedTable;
import io.pyqbeast.commands.ChoiceByWeight;
import io.pyqbeast.commands.IndexedRestore;
import io.pyqbeast.commit.LegacyTableGuard;
import io.pyqbeast.conditions.ParquetConditions;
import io.pyqbeast.conditions.TileDBConditions;
import io.pyqbeast.layout.MapPartitionsWithExpressions;
import io.pyqbeast.sample.IndexedScan;
import io.pyqbeast.sample.SampleRule;
import io.pyqbeast.sample.WholeFiles;
import io.pyqbeast.spark.CommandPlan;
import io.pyqbeast.spark.ScalaInterop;
import io.pyqbeast.spark.TileDBFilters;
import java.util.List;
import org.apache.spark.sql.SparkSessionExtensions;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * What {@code spark.sql.extensions} names. It has to stand before Delta's extension: {@code IndexedScan} prepares the
 * scans that Delta's own rule would otherwise take.
 */
public final class QbeastExtension extends AbstractFunction1<SparkSessionExtensions, BoxedUnit> {
  private static final List<String> TABLE = List.of("table");

  @Override
  public BoxedUnit apply(SparkSessionExtensions extensions) {
    extensions.injectResolutionRule(ScalaInterop.function(session -> new IndexedOverwrite()));
    extensions.injectResolutionRule(ScalaInterop.function(session -> new IndexedLike()));
    if (TileDBFilters.ARE_TAKEN) {
      extensions.injectPostHocResolutionRule(ScalaInterop.function(session -> new TileDBFilters()));
      extensions.injectOptimizerRule(ScalaInterop.function(session -> new TileDBConditions()));
    }
    extensions.injectOptimizerRule(ScalaInterop.function(session -> new SampleRule(session, IndexedScan.ofQuery(session))));
    extensions.injectPreCBORule(ScalaInterop.function(IndexedScan::ofQuery));
    extensions.injectPlannerStrategy(ScalaInterop.function(session -> new WholeFiles()));
    extensions.injectPlannerStrategy(ScalaInterop.function(session -> new ParquetConditions()));
    extensions.injectPlannerStrategy(ScalaInterop.function(session -> new MapPartitionsWithExpressions.Strategy()));
    extensions.injectPlannerStrategy(ScalaInterop.function(session -> new CommandPlan.Strategy(IndexedRestore::of)));
    extensions.injectPlannerStrategy(ScalaInterop.function(session -> new CommandPlan.Strategy(ChoiceByWeight::of)));
    extensions.injectPlannerStrategy(ScalaInterop.function(session -> new CommandPlan.Strategy(CheckedSave::of)));
    extensions.injectPlannerStrategy(ScalaInterop.function(session -> new CommandPlan.Strategy(SavedTable::of)));
    IndexFunction.inject(extensions, "blocks", "qbeast_blocks(table) - One row for each block of each indexed file.", TABLE);
    IndexFunction.inject(extensions, "metrics", "qbeast_metrics(table) - One row: figures of the latest revision.", TABLE);
    IndexFunction.inject(
        extensions, "estimate",
        "qbeast_estimate(query, error, confidence, budget, smallest_group) - The answer to a query, and after each"
            + " estimate its bounds.",
        List.of("query", "error", "confidence", "budget", "smallest_group"));
    extensions.injectCheckRule(
        ScalaInterop.function(
            session ->
                ScalaInterop.function(
                    plan -> {
                      LegacyTableGuard.check(plan);
                      return BoxedUnit.UNIT;
                    })));
    return BoxedUnit.UNIT;
  }
}
