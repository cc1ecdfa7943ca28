package io.pyqbeast.estimate;

import io.pyqbeast.format.HashedLayout;
import io.pyqbeast.spark.LogicalPlans;
import io.pyqbeast.spark.ScalaInterop;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Cast$;
import org.apache.spark.sql.catalyst.expressions.EqualNullSafe;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.Join;

/** The pairs of stored columns that are equal wherever some conditions hold. */
final class EqualColumns {
  private final List<Pair> pairs = new ArrayList<>();

  /** @param hashAlike whether values that are equal have equal hashes, because no cast came between that matters */
  record Pair(AttributeReference left, AttributeReference right, boolean hashAlike) {}

  /**
   * @param conditions that all hold
   * @param meant what a column of a projection stands for; any other column stands for itself
   */
  EqualColumns(List<Expression> conditions, Function<Attribute, Expression> meant) {
    for (Expression condition : conditions) {
      if (condition instanceof EqualTo || condition instanceof EqualNullSafe) {
        List<Expression> sides = ScalaInterop.list(condition.children());
        Column left = column(sides.get(0), meant);
        Column right = column(sides.get(1), meant);
        if (left != null && right != null) {
          boolean stable = HashedLayout.hashesEqualValuesAlike(left.stored.dataType());
          pairs.add(new Pair(left.stored, right.stored, left.keepsHash && right.keepsHash && stable));
        }
      }
    }
  }

  /** The parts of a join's condition; none where it has no condition. */
  static List<Expression> parts(Join join) {
    return join.condition().isDefined() ? LogicalPlans.parts(join.condition().get()) : List.of();
  }

  List<Pair> pairs() {
    return pairs;
  }

  /**
   * Some columns, and all that are equal to one of them.
   *
   * @param withCasts whether pairs count whose equal values may have different hashes
   */
  Set<ExprId> closure(Set<ExprId> columns, boolean withCasts) {
    Set<ExprId> found = new HashSet<>(columns);
    int before;
    do {
      before = found.size();
      for (Pair pair : pairs) {
        boolean touches = found.contains(pair.left.exprId()) || found.contains(pair.right.exprId());
        if (touches && (pair.hashAlike || withCasts)) {
          found.add(pair.left.exprId());
          found.add(pair.right.exprId());
        }
      }
    } while (found.size() > before);
    return found;
  }

  private record Column(AttributeReference stored, boolean keepsHash) {}

  /** The column that an expression is, but for casts; null where it is something else. */
  private static Column column(Expression expression, Function<Attribute, Expression> meant) {
    if (expression instanceof Cast cast) {
      Column inner = column(cast.child(), meant);
      boolean keeps =
          Cast$.MODULE$.canUpCast(cast.child().dataType(), cast.dataType())
              && HashedLayout.hashAlike(cast.child().dataType(), cast.dataType());
      return inner == null ? null : new Column(inner.stored, inner.keepsHash && keeps);
    }
    if (!(expression instanceof AttributeReference attribute)) {
      return null;
    }
    Expression stands = meant.apply(attribute);
    return stands == attribute ? new Column(attribute, true) : column(stands, meant);
  }
}
