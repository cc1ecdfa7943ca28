package io.pyqbeast.expressions;

import java.io.Serializable;

/**
 * Where a value lies in one dimension: what the JVM computes for one kind of transformer. Python chooses a class of
 * this package by its name, which stands in the file of the kind in {@code core/transform}. The class has a constructor
 * without parameters, or one that takes a JSON text.
 *
 * <p>A class may have another method {@code of} that takes one of the types in Spark's rows ({@code double},
 * {@code long}, {@code UTF8String} and so on). Generated code then calls that method and need not box the value.
 */
public interface CoordinateFunction extends Serializable {
  /** The coordinate of a value that is not null, as Spark's rows hold it. */
  double of(Object value);
}
