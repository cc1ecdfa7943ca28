package io.pyqbeast;

import org.apache.spark.sql.SparkSessionExtensions;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * What {@code spark.sql.extensions} names. It has to stand before Delta's extension: {@link IndexedScan} prepares the
 * scans that Delta's own rule would otherwise take.
 */
public final class QbeastExtension extends AbstractFunction1<SparkSessionExtensions, BoxedUnit> {
  @Override
  public BoxedUnit apply(SparkSessionExtensions extensions) {
    extensions.injectResolutionRule(Scala.function(session -> new IndexedOverwrite()));
    extensions.injectPostHocResolutionRule(Scala.function(session -> new TileDBFilters()));
    extensions.injectOptimizerRule(Scala.function(SampleRule::new));
    extensions.injectPreCBORule(Scala.function(IndexedScan::new));
    extensions.injectPlannerStrategy(Scala.function(session -> new RowsPlan.Strategy()));
    extensions.injectPlannerStrategy(Scala.function(session -> new CommandPlan.Strategy(IndexedRestore::of)));
    extensions.injectPlannerStrategy(Scala.function(session -> new CommandPlan.Strategy(DeletionByWeight::of)));
    IndexFunction.inject(extensions, "blocks", "qbeast_blocks(table) - One row for each block of each indexed file.");
    IndexFunction.inject(extensions, "metrics", "qbeast_metrics(table) - One row: figures of the latest revision.");
    extensions.injectCheckRule(
        Scala.function(
            session ->
                Scala.function(
                    plan -> {
                      ChangeGuard.check(plan);
                      return BoxedUnit.UNIT;
                    })));
    return BoxedUnit.UNIT;
  }
}
