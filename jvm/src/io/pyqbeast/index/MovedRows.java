package io.pyqbeast.index;

import io.pyqbeast.format.ColumnNames;
import io.pyqbeast.spark.ScalaInterop;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.DeltaMergeAction;
import org.apache.spark.sql.catalyst.plans.logical.DeltaMergeIntoClause;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.delta.commands.MergeIntoCommandBase;
import org.apache.spark.sql.delta.commands.UpdateCommand;

/**
 * Whether an UPDATE, or a MERGE that updates, gives rows other values in hashed columns, and so other weights. Such
 * rows leave their old weights, as deleted rows do.
 */
public final class MovedRows {
  private MovedRows() {}

  public static boolean areMoved(LogicalPlan command, List<String> hashed) {
    return !values(command, hashed).isEmpty();
  }

  /** The new values of hashed columns. A column that is set to itself is left out. */
  public static List<Expression> values(LogicalPlan command, List<String> hashed) {
    List<Expression> given = new ArrayList<>();
    if (command instanceof UpdateCommand update) {
      List<Attribute> columns = ScalaInterop.list(update.target().output());
      List<Expression> values = ScalaInterop.list(update.updateExpressions());
      for (int i = 0; i < columns.size(); i++) {
        if (ColumnNames.isAmong(hashed, columns.get(i).name()) && !isSame(columns.get(i), values.get(i))) {
          given.add(values.get(i));
        }
      }
    }
    if (command instanceof MergeIntoCommandBase merge) {
      List<DeltaMergeIntoClause> clauses = new ArrayList<>(ScalaInterop.list(merge.matchedClauses()));
      clauses.addAll(ScalaInterop.list(merge.notMatchedBySourceClauses()));
      return values(merge, clauses, hashed);
    }
    return given;
  }

  /** The values of hashed columns in rows that a MERGE inserts. */
  public static List<Expression> inserted(MergeIntoCommandBase merge, List<String> hashed) {
    return values(merge, ScalaInterop.list(merge.notMatchedClauses()), hashed);
  }

  private static List<Expression> values(
      MergeIntoCommandBase merge, List<? extends DeltaMergeIntoClause> clauses, List<String> hashed) {
    List<Attribute> columns = ScalaInterop.list(merge.target().output());
    List<Expression> given = new ArrayList<>();
    for (DeltaMergeIntoClause clause : clauses) {
      for (DeltaMergeAction action : ScalaInterop.list(clause.resolvedActions())) {
        String name = action.targetColNameParts().head();
        boolean isKept =
            columns.stream()
                .anyMatch(column -> ColumnNames.areSame(column.name(), name) && isSame(column, action.expr()));
        if (ColumnNames.isAmong(hashed, name) && !isKept) {
          given.add(action.expr());
        }
      }
    }
    return given;
  }

  private static boolean isSame(Attribute column, Expression value) {
    return value instanceof Attribute kept && kept.exprId().equals(column.exprId());
  }
}
