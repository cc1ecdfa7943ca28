package io.pyqbeast.estimate;

import io.pyqbeast.errors.RefusedQuery;
import io.pyqbeast.spark.LogicalPlans;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.ExprId;

/**
 * The rows of a part of a query, each of one weight. If two parts are joined by the columns whose hash is the weight on
 * both sides, then rows that meet have one weight, and the join of the lightest rows is the lightest part of the join:
 * a sample of its keys.
 *
 * @param keys for each hashed column, in order, the columns that have its value in all rows of the result
 * @param keyed tables that hold the key of every row
 * @param multiplied tables whose rows of a key multiply to the most rows of that key
 * @param isFull whether a FULL OUTER join made them. If a key has a rows on one side and b on the other, none of which
 *     meet, it has a + b, which is at most one more than a * b
 */
record KeyedRows(
    List<Set<ExprId>> keys, List<SampledTable> keyed, List<SampledTable> multiplied, boolean isFull) {
  static KeyedRows of(SampledTable table) {
    List<Set<ExprId>> keys = table.hashed().stream().map(column -> Set.of(column.exprId())).toList();
    return new KeyedRows(keys, List.of(table), List.of(table), false);
  }

  /** The same rows, joined to such as meet them in columns that are equal. */
  KeyedRows with(EqualColumns equal) {
    List<Set<ExprId>> closures = keys.stream().map(key -> equal.closure(key, false)).toList();
    return new KeyedRows(closures, keyed, multiplied, isFull);
  }

  /**
   * These rows joined to others.
   *
   * @param type of the join, in SQL
   * @param equal the columns that are equal in all rows that meet
   * @throws RefusedQuery where rows that meet can have different weights; the message says which layout helps
   */
  KeyedRows joined(KeyedRows right, String type, EqualColumns equal) {
    List<Set<ExprId>> reached = with(equal).keys;
    boolean meet = keys.size() == right.keys.size();
    for (int i = 0; meet && i < keys.size(); i++) {
      meet = !Collections.disjoint(reached.get(i), right.keys.get(i));
    }
    if (!meet) {
      throw new RefusedQuery(whyNot(right, equal));
    }
    List<SampledTable> both = LogicalPlans.together(keyed, right.keyed);
    List<SampledTable> product = LogicalPlans.together(multiplied, right.multiplied);
    return switch (type) {
      case "INNER", "CROSS" -> {
        List<Set<ExprId>> all = new ArrayList<>(reached);
        all.replaceAll(HashSet::new);
        for (int i = 0; i < all.size(); i++) {
          all.get(i).addAll(right.keys.get(i));
        }
        yield new KeyedRows(all, both, product, false);
      }
      case "LEFT OUTER" -> new KeyedRows(keys, keyed, product, false);
      case "RIGHT OUTER" -> new KeyedRows(right.keys, right.keyed, product, false);
      case "LEFT SEMI" -> new KeyedRows(reached, both, multiplied, false);
      case "LEFT ANTI" -> new KeyedRows(keys, keyed, multiplied, false);
      // A row may lack the columns of either side, so that no column has the key of all rows.
      case "FULL OUTER" -> {
        List<Set<ExprId>> none = keys.stream().map(key -> Set.<ExprId>of()).toList();
        yield new KeyedRows(none, both, product, true);
      }
      default -> throw new RefusedQuery("it holds a " + type + " join of indexed tables");
    };
  }

  private String whyNot(KeyedRows joined, EqualColumns equal) {
    if (keys.get(0).isEmpty() || joined.keys.get(0).isEmpty()) {
      return "it joins rows of a FULL OUTER join to another indexed table, and no column has the key of all of them";
    }
    for (SampledTable one : keyed) {
      for (SampledTable other : joined.keyed) {
        if (equal.pairs().stream().anyMatch(pair -> straight(pair, one, other) || straight(pair, other, one))) {
          return whyNot(one, other, equal);
        }
      }
    }
    return whyNot(keyed.get(0), joined.keyed.get(0), equal);
  }

  private static boolean straight(EqualColumns.Pair pair, SampledTable left, SampledTable right) {
    return left.has(pair.left().exprId()) && right.has(pair.right().exprId());
  }

  private static String whyNot(SampledTable one, SampledTable other, EqualColumns equal) {
    String refusal =
        "it joins indexed tables that cannot be sampled together, as rows that meet have different weights: "
            + described(one) + ", " + described(other);
    List<AttributeReference> left = new ArrayList<>();
    List<AttributeReference> right = new ArrayList<>();
    for (EqualColumns.Pair pair : equal.pairs()) {
      boolean isStraight = straight(pair, one, other);
      if (!isStraight && !straight(pair, other, one)) {
        continue;
      }
      AttributeReference ofOne = isStraight ? pair.left() : pair.right();
      AttributeReference ofOther = isStraight ? pair.right() : pair.left();
      if (!pair.hashAlike()) {
        return refusal + ", and equal values of " + typed(ofOne) + " and " + typed(ofOther) + " can have different"
            + " hashes. Both columns need one type, and texts the collation UTF8_BINARY";
      }
      left.add(ofOne);
      right.add(ofOther);
    }
    if (left.isEmpty()) {
      return refusal + ", and no column of one is joined to a column of the other by an equality";
    }
    List<String> layouts = new ArrayList<>();
    List<String> ofOther = partners(one.hashed(), left, right);
    List<String> ofOne = partners(other.hashed(), right, left);
    if (ofOther != null) {
      layouts.add(layout(other, ofOther));
    } else if (ofOne != null) {
      layouts.add(layout(one, ofOne));
    } else {
      layouts.add(layout(one, left.stream().map(Attribute::name).toList()));
      layouts.add(layout(other, right.stream().map(Attribute::name).toList()));
    }
    return refusal + ". It takes tables that are weighed by columns of the join alone, in one order: write "
        + String.join(" and ", layouts);
  }

  /** For each column of one table its partner in the other; null where one has none. */
  private static List<String> partners(
      List<Attribute> columns, List<AttributeReference> own, List<AttributeReference> others) {
    List<String> found = new ArrayList<>();
    for (Attribute column : columns) {
      for (int i = 0; i < own.size(); i++) {
        if (own.get(i).exprId().equals(column.exprId())) {
          found.add(others.get(i).name());
          break;
        }
      }
    }
    return found.size() == columns.size() ? found : null;
  }

  private static String layout(SampledTable table, List<String> columns) {
    String all = table.name() + " with columnsToIndex=\"" + String.join(",", columns) + "\"";
    return columns.size() == 1
        ? all
        : all + " (or columnsToIndex=\"" + columns.get(0) + "\" and weightColumns=\""
            + String.join(",", columns.subList(1, columns.size())) + "\")";
  }

  private static String described(SampledTable table) {
    return table.name() + " is weighed by "
        + table.hashed().stream().map(Attribute::name).collect(Collectors.joining(", "));
  }

  private static String typed(Attribute column) {
    return column.name() + " (" + column.dataType().simpleString() + ")";
  }
}
