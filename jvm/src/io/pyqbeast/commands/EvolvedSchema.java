package io.pyqbeast.commands;

import io.pyqbeast.errors.Failure;
import io.pyqbeast.errors.Refusal;
import io.pyqbeast.format.ColumnNames;
import io.pyqbeast.format.HashedColumns;
import io.pyqbeast.format.HashedTypes;
import java.util.List;
import java.util.Optional;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.commands.MergeIntoCommandBase;
import org.apache.spark.sql.types.StructField;

/**
 * The columns that an indexed table will have after a MERGE that brings its own: ones that the index cannot go on with are
 * refused while the table is as it was, as ALTER TABLE refuses them.
 */
final class EvolvedSchema {
  private EvolvedSchema() {}

  /** @throws Refusal where no more rows could be appended afterwards, and still can now */
  static void check(LogicalPlan command, Snapshot table) {
    if (!(command instanceof MergeIntoCommandBase merge) || merge.migratedSchema().isEmpty()) {
      return;
    }
    HashedColumns hashed = HashedColumns.of(table.metadata());
    List<StructField> now = List.of(table.schema().fields());
    List<String> names = now.stream().map(StructField::name).toList();
    for (StructField column : merge.migratedSchema().get().fields()) {
      if (!ColumnNames.isAmong(names, column.name())) {
        ColumnNames.problem(column.name())
            .ifPresent(
                problem -> {
                  throw new Failure(Failure.Kind.INPUT, problem, null);
                });
      }
      boolean isUsableNow =
          now.stream()
              .filter(each -> ColumnNames.areSame(each.name(), column.name()))
              .allMatch(each -> problem(hashed, table, each).isEmpty());
      if (isUsableNow) {
        problem(hashed, table, column)
            .ifPresent(
                problem -> {
                  throw new Refusal(problem);
                });
      }
    }
  }

  private static Optional<String> problem(HashedColumns hashed, Snapshot table, StructField column) {
    return HashedTypes.problem(hashed, table.dataPath().toString(), column.name(), column.dataType());
  }
}
