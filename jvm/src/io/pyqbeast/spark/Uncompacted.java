package io.pyqbeast.spark;

import java.util.function.Supplier;
import org.apache.spark.sql.delta.OptimisticTransaction;
import org.apache.spark.sql.delta.TransactionExecutionObserver;
import org.apache.spark.sql.delta.hooks.AutoCompact$;
import scala.Function0;
import scala.Option;

/**
 * Runs one of Delta's commands without the compaction that Delta's settings may ask for after it: an {@code OPTIMIZE} of
 * small files, which lie in the index and would leave it. Delta tells a thread's observer of each transaction that it
 * starts. This one takes the compaction away from what a transaction is to do after its commit, and hands all else on to
 * the observer that was there before.
 */
public final class Uncompacted implements TransactionExecutionObserver {
  private final TransactionExecutionObserver outer;

  /** The newest transaction of the command; null before. */
  private OptimisticTransaction started;

  private Uncompacted(TransactionExecutionObserver outer) {
    this.outer = outer;
  }

  public static <T> T run(Supplier<T> command) {
    TransactionExecutionObserver before = (TransactionExecutionObserver) TransactionExecutionObserver.getObserver();
    TransactionExecutionObserver.setObserver(new Uncompacted(before));
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
  public <T> T preparingCommit(Function0<T> prepare) {
    if (started != null) {
      started.unregisterPostCommitHooksWhere(ScalaInterop.predicate(hook -> hook == AutoCompact$.MODULE$));
    }
    return outer.preparingCommit(prepare);
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
