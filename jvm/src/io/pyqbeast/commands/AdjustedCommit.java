package io.pyqbeast.commands;

import io.pyqbeast.spark.ScalaInterop;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.BiFunction;
import java.util.function.Supplier;
import org.apache.spark.sql.delta.OptimisticTransaction;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.actions.FileAction;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.delta.hooks.AutoCompact$;
import scala.Function0;
import scala.Option;
import scala.collection.immutable.Seq;

/**
 * Runs one of Delta's commands, and adjusts what it commits.
 *
 * <p>No compaction follows the commit, as Delta's settings may ask for: an {@code OPTIMIZE} of small files, which lie in
 * the index and would leave it.
 *
 * <p>A commit that adds or takes away files may have other metadata: both land, or neither.
 */
final class AdjustedCommit extends ForwardingObserver {
  /** The other metadata, made of the transaction and of what it is about to commit; empty where its own may stay. */
  private final BiFunction<OptimisticTransaction, List<Action>, Optional<Metadata>> adjusted;

  /** The newest transaction of the command; null before. */
  private OptimisticTransaction started;

  private AdjustedCommit(BiFunction<OptimisticTransaction, List<Action>, Optional<Metadata>> adjusted) {
    this.adjusted = adjusted;
  }

  /**
   * Runs a command.
   *
   * @param adjusted gives the metadata that a transaction commits, of the transaction and its actions; empty where the
   *     transaction's own may stay
   */
  static <T> T run(
      Supplier<T> command, BiFunction<OptimisticTransaction, List<Action>, Optional<Metadata>> adjusted) {
    return new AdjustedCommit(adjusted).observe(command::get);
  }

  @Override
  public OptimisticTransaction startingTransaction(Function0<OptimisticTransaction> start) {
    started = super.startingTransaction(start);
    return started;
  }

  /** Delta has asked for the compaction when it wrote the files. */
  @Override
  @SuppressWarnings("unchecked")
  public <T> T preparingCommit(Function0<T> prepare) {
    if (started != null) {
      started.unregisterPostCommitHooksWhere(ScalaInterop.predicate(hook -> hook == AutoCompact$.MODULE$));
    }
    T prepared = super.preparingCommit(prepare);
    return prepared instanceof Seq<?> actions && changeFiles(actions) ? (T) adjust((Seq<Action>) actions) : prepared;
  }

  /** Whether files come or go. Without that, Delta may leave the commit out. */
  private static boolean changeFiles(Seq<?> actions) {
    return actions.exists(ScalaInterop.predicate(FileAction.class::isInstance));
  }

  /** Delta asks for the actions of a commit here, and makes the metadata one of them. */
  private Seq<Action> adjust(Seq<Action> prepared) {
    List<Action> actions = ScalaInterop.list(prepared);
    Optional<Metadata> other = adjusted.apply(started, actions);
    if (other.isEmpty()) {
      return prepared;
    }
    started.newMetadata_$eq(Option.apply(other.get()));
    List<Action> changed = new ArrayList<>(List.of(other.get()));
    actions.stream().filter(action -> !(action instanceof Metadata)).forEach(changed::add);
    return ScalaInterop.seq(changed);
  }
}
