package io.pyqbeast.spark;

import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.Supplier;
import scala.Function0;
import scala.Function1;
import scala.PartialFunction;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;
import scala.runtime.AbstractFunction0;
import scala.runtime.AbstractFunction1;
import scala.runtime.AbstractPartialFunction;

/** Scala's collections and functions from Java's. */
public final class ScalaInterop {
  private ScalaInterop() {}

  public static <T> Seq<T> seq(List<T> list) {
    return CollectionConverters.asScala(list).toSeq();
  }

  public static <T> List<T> list(scala.collection.Seq<T> seq) {
    return CollectionConverters.asJava(seq);
  }

  public static <K, V> scala.collection.immutable.Map<K, V> map(Map<K, V> map) {
    return scala.collection.immutable.Map.from(CollectionConverters.asScala(map));
  }

  public static <K, V> Map<K, V> map(scala.collection.Map<K, V> map) {
    return CollectionConverters.asJava(map);
  }

  public static <A, B> Function1<A, B> function(Function<A, B> body) {
    return new AbstractFunction1<A, B>() {
      @Override
      public B apply(A argument) {
        return body.apply(argument);
      }
    };
  }

  public static <A> Function0<A> supplier(Supplier<A> body) {
    return new AbstractFunction0<A>() {
      @Override
      public A apply() {
        return body.get();
      }
    };
  }

  /** A function of those values that are of one class. */
  public static <N, P extends N> PartialFunction<N, N> partial(Class<P> of, Function<P, ? extends N> body) {
    return new AbstractPartialFunction<N, N>() {
      @Override
      public boolean isDefinedAt(N value) {
        return of.isInstance(value);
      }

      @Override
      @SuppressWarnings("unchecked")
      public <A extends N, B> B applyOrElse(A value, Function1<A, B> otherwise) {
        return of.isInstance(value) ? (B) body.apply(of.cast(value)) : otherwise.apply(value);
      }
    };
  }

  public static <T> ClassTag<T> tag(Class<T> of) {
    return ClassTag$.MODULE$.apply(of);
  }

  public static <A> Function1<A, Object> predicate(java.util.function.Predicate<A> body) {
    return function(body::test);
  }
}
