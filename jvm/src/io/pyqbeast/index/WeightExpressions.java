package io.pyqbeast.index;

import io.pyqbeast.format.ColumnNames;
import io.pyqbeast.format.Constants;
import io.pyqbeast.format.HashedColumns;
import io.pyqbeast.format.HashedLayout;
import io.pyqbeast.spark.ScalaInterop;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.EqualNullSafe;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.Murmur3Hash;
import org.apache.spark.sql.catalyst.expressions.Not;

/**
 * Recognizes the weight among the expressions of a scan's filters: it is the hash of the hashed columns. Where a
 * filter says that a column equals a constant, Spark has put the constant into the hash in place of the column.
 */
final class WeightExpressions {
  private final List<String> columns;
  private final Map<String, Literal> constants = new HashMap<>();

  /** @param columns those that are hashed, in their order; none where the table is not indexed */
  WeightExpressions(List<Expression> filters, List<String> columns) {
    this.columns = columns;
    filters.forEach(this::learn);
  }

  private void learn(Expression filter) {
    if (filter instanceof EqualTo || filter instanceof EqualNullSafe) {
      List<Expression> sides = ScalaInterop.list(filter.children());
      learn(sides.get(0), sides.get(1));
      learn(sides.get(1), sides.get(0));
    } else if (filter instanceof IsNull isNull) {
      learn(isNull.child(), new Literal(null, isNull.child().dataType()));
    } else if (filter instanceof Not not) {
      learn(not.child(), Literal$.MODULE$.FalseLiteral());
    } else {
      learn(filter, Literal$.MODULE$.TrueLiteral());
    }
  }

  /** Of texts that a collation takes for equal, a constant is only one, and the others have other hashes. */
  private void learn(Expression column, Expression value) {
    boolean isOnlyValue = HashedLayout.hashesEqualValuesAlike(column.dataType());
    if (isOnlyValue && column instanceof AttributeReference named && value instanceof Literal constant) {
      constants.put(ColumnNames.key(named.name()), constant);
    }
  }

  /** Whether an expression is the weight. */
  boolean isWeight(Expression expression) {
    if (!(expression instanceof Murmur3Hash hash) || hash.seed() != Constants.HASH_SEED) {
      return false;
    }
    List<Expression> children = ScalaInterop.list(hash.children());
    if (columns.isEmpty() || children.size() != columns.size()) {
      return false;
    }
    for (int i = 0; i < columns.size(); i++) {
      if (!stands(children.get(i), columns.get(i))) {
        return false;
      }
    }
    return true;
  }

  private boolean stands(Expression child, String column) {
    Expression held = child instanceof Cast cast ? cast.child() : child;
    return held instanceof AttributeReference named
        ? ColumnNames.areSame(named.name(), column) && child.semanticEquals(HashedColumns.hashed(named))
        : child.equals(constants.get(ColumnNames.key(column)));
  }
}
