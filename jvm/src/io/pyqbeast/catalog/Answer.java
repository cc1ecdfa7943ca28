package io.pyqbeast.catalog;

import io.pyqbeast.python.Bridge;
import io.pyqbeast.spark.ScalaInterop;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.apache.spark.Dependency;
import org.apache.spark.OneToOneDependency;
import org.apache.spark.Partition;
import org.apache.spark.SparkContext;
import org.apache.spark.TaskContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.sources.TableScan;
import org.apache.spark.sql.types.StructType;
import scala.collection.Iterator;
import scala.collection.immutable.Seq;

/**
 * What a table function answers. Spark analyses a query more often than it runs it: for EXPLAIN, for a schema, for a
 * view, and for each request of a client of Spark Connect. So the rows are worked out when they are read for the first
 * time, and then they are those of all readings of the analysed query.
 */
final class Answer extends BaseRelation implements TableScan {
  /** Answers are short, so that Spark may send them to all executors for a join. */
  private static final long BYTES = 1 << 20;

  private final SparkSession session;
  private final String function;
  private final StructType schema;
  private final Rows rows;

  /** @param schema that of Python's answer, with whatever it says of nulls */
  Answer(SparkSession session, String question, Map<String, Object> arguments, StructType schema) {
    this.session = session;
    this.function = "qbeast_" + question;
    this.schema = schema.asNullable();
    this.rows =
        new Rows(
            session.sparkContext(),
            () ->
                session.withActive(
                    ScalaInterop.supplier(() -> rowsOf(Bridge.answer(session, question, arguments).to(this.schema)))));
  }

  private static RDD<InternalRow> rowsOf(org.apache.spark.sql.Dataset<Row> frame) {
    return ((Dataset<Row>) frame).queryExecution().toRdd();
  }

  @Override
  public SQLContext sqlContext() {
    return session.sqlContext();
  }

  @Override
  public StructType schema() {
    return schema;
  }

  @Override
  public long sizeInBytes() {
    return BYTES;
  }

  /** The rows are Spark's own already. */
  @Override
  public boolean needConversion() {
    return false;
  }

  @Override
  @SuppressWarnings("unchecked")
  public RDD<Row> buildScan() {
    return (RDD<Row>) (RDD<?>) rows;
  }

  @Override
  public String toString() {
    return function;
  }

  /** The rows of another RDD, which is made when Spark asks for its partitions: on the driver, to run a job. */
  private static final class Rows extends RDD<InternalRow> {
    private static final long serialVersionUID = 1L;

    private final transient Supplier<RDD<InternalRow>> made;

    Rows(SparkContext context, Supplier<RDD<InternalRow>> made) {
      super(context, ScalaInterop.seq(List.of()), ScalaInterop.tag(InternalRow.class));
      this.made = made;
    }

    /** Spark keeps these, and asks for them once. */
    @Override
    public Seq<Dependency<?>> getDependencies() {
      return ScalaInterop.seq(List.of(new OneToOneDependency<>(made.get())));
    }

    @Override
    public Partition[] getPartitions() {
      return parent().partitions();
    }

    @Override
    public Iterator<InternalRow> compute(Partition part, TaskContext task) {
      return parent().iterator(part, task);
    }

    private RDD<InternalRow> parent() {
      return firstParent(ScalaInterop.tag(InternalRow.class));
    }
  }
}
