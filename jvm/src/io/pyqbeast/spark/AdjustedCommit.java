package io.pyqbeast.spark;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.BiFunction;
import java.util.function.Supplier;
import org.apache.spark.sql.delta.OptimisticTransaction;
import org.apache.spark.sql.delta.TransactionExecutionObserver;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.actions.FileAction;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.delta.hooks.AutoCompact$;
import scala.Function0;
import scala.Option;
import scala.collection.immutable.Seq;

/**
 * Runs one of Delta's commands, and adjusts what it commits. Delta tells a thread's observer of each transaction that it
 * starts. This one hands all but two things on to the observer that was there before.
 *
 * <p>No compaction follows the commit, as Delta's settings may ask for: an {@code OPTIMIZE} of small files, which lie in
 * the index and would leave it.
 *
 * <p>A commit that adds or takes away files may have other metadata: both land, or neither.
 */
public final class AdjustedCommit implements TransactionExecutionObserver {
  private final TransactionExecutionObserver outer;

  /** The other metadata, made of the transaction and of what it is about to commit; empty where its own may stay. */
  private final BiFunction<OptimisticTransaction, List<Action>, Optional<Metadata>> adjusted;

  /** The newest transaction of the command; null before. */
  private OptimisticTransaction started;

  private AdjustedCommit(
      TransactionExecutionObserver outer,
      BiFunction<OptimisticTransaction, List<Action>, Optional<Metadata>> adjusted) {
    this.outer = outer;
    this.adjusted = adjusted;
  }

  /**
   * Runs a command.
   *
   * @param adjusted gives the metadata that a transaction commits, of the transaction and its actions; empty where the
   *     transaction's own may stay
   */
  public static <T> T run(
      Supplier<T> command, BiFunction<OptimisticTransaction, List<Action>, Optional<Metadata>> adjusted) {
    TransactionExecutionObserver before = (TransactionExecutionObserver) TransactionExecutionObserver.getObserver();
    TransactionExecutionObserver.setObserver(new AdjustedCommit(before, adjusted));
    try {
      return command.get();
    } finally {
      TransactionExecutionObserver.setObserver(before);
    }
  }

  @Override
  public OptimisticTransaction startingTransaction(Function0<OptimisticTransaction> start) {
    started = outer.startingTransaction(start);
    return started;
  }

  /** Delta has asked for the compaction when it wrote the files. */
  @Override
  @SuppressWarnings("unchecked")
  public <T> T preparingCommit(Function0<T> prepare) {
    if (started != null) {
      started.unregisterPostCommitHooksWhere(ScalaInterop.predicate(hook -> hook == AutoCompact$.MODULE$));
    }
    T prepared = outer.preparingCommit(prepare);
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

  @Override
  public TransactionExecutionObserver createChild() {
    return this;
  }

  @Override
  public Option<TransactionExecutionObserver> nextObserver() {
    return outer.nextObserver();
  }

  @Override
  public void nextObserver_$eq(Option<TransactionExecutionObserver> observer) {
    outer.nextObserver_$eq(observer);
  }

  @Override
  public void beginDoCommit() {
    outer.beginDoCommit();
  }

  @Override
  public void beginBackfill() {
    outer.beginBackfill();
  }

  @Override
  public void beginPostCommit() {
    outer.beginPostCommit();
  }

  @Override
  public void transactionCommitted() {
    outer.transactionCommitted();
  }

  @Override
  public void transactionAborted() {
    outer.transactionAborted();
  }
}
