package io.pyqbeast.catalog;

import io.pyqbeast.errors.Refusal;
import io.pyqbeast.spark.ScalaInterop;
import io.pyqbeast.spark.TableLike;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;

/** Refuses {@code CREATE TABLE … LIKE … USING qbeast}, of which Spark and Delta would make a table without an index. */
public final class IndexedLike extends Rule<LogicalPlan> {
  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    if (TableLike.providerOf(plan).exists(ScalaInterop.predicate(IndexedTable.PROVIDER::equalsIgnoreCase))) {
      throw new Refusal(
          "CREATE TABLE LIKE makes no indexed table: write CREATE TABLE with the columns of the other table, USING"
              + " qbeast and OPTIONS (columnsToIndex = '…')");
    }
    return plan;
  }
}
