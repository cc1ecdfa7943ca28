package io.pyqbeast.commands;

import org.apache.spark.sql.delta.OptimisticTransaction;
import org.apache.spark.sql.delta.TransactionExecutionObserver;
import scala.Function0;
import scala.Option;

/**
 * What Delta tells of each transaction that it starts in a thread. It is handed on to the observer that the thread had
 * before, but no transaction gets a child of that one: it tells all to this observer.
 */
abstract class ForwardingObserver implements TransactionExecutionObserver {
  private final TransactionExecutionObserver before =
      (TransactionExecutionObserver) TransactionExecutionObserver.getObserver();

  /** What runs while it is observed. */
  interface Observed<T, E extends Exception> {
    T run() throws E;
  }

  protected final <T, E extends Exception> T observe(Observed<T, E> body) throws E {
    TransactionExecutionObserver.setObserver(this);
    try {
      return body.run();
    } finally {
      TransactionExecutionObserver.setObserver(before);
    }
  }

  @Override
  public OptimisticTransaction startingTransaction(Function0<OptimisticTransaction> start) {
    return before.startingTransaction(start);
  }

  @Override
  public <T> T preparingCommit(Function0<T> prepare) {
    return before.preparingCommit(prepare);
  }

  @Override
  public final TransactionExecutionObserver createChild() {
    return this;
  }

  @Override
  public final Option<TransactionExecutionObserver> nextObserver() {
    return before.nextObserver();
  }

  @Override
  public final void nextObserver_$eq(Option<TransactionExecutionObserver> observer) {
    before.nextObserver_$eq(observer);
  }

  @Override
  public final void beginDoCommit() {
    before.beginDoCommit();
  }

  @Override
  public final void beginBackfill() {
    before.beginBackfill();
  }

  @Override
  public final void beginPostCommit() {
    before.beginPostCommit();
  }

  @Override
  public final void transactionCommitted() {
    before.transactionCommitted();
  }

  @Override
  public final void transactionAborted() {
    before.transactionAborted();
  }
}
