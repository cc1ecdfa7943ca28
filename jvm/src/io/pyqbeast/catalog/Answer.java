package io.pyqbeast.catalog;

import io.pyqbeast.python.BoundQuestion;
import io.pyqbeast.spark.Frames;
import io.pyqbeast.spark.LogicalPlans;
import io.pyqbeast.spark.ScalaInterop;
import java.util.List;
import java.util.Objects;
import java.util.function.Supplier;
import org.apache.spark.Dependency;
import org.apache.spark.OneToOneDependency;
import org.apache.spark.Partition;
import org.apache.spark.SparkContext;
import org.apache.spark.TaskContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.sources.TableScan;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.Iterator;
import scala.collection.immutable.Seq;

/**
 * What a table function answers. Spark analyses a query more often than it runs it: for EXPLAIN, for a schema, for a
 * view, and for each request of a client of Spark Connect. So the rows are worked out when they are read for the first
 * time, and then they are those of all readings of the analysed query. What its names stand for is settled before, as in
 * any query.
 */
final class Answer extends BaseRelation implements TableScan {
  private final SparkSession session;
  private final BoundQuestion question;
  private final StructType schema;
  private final LogicalPlan about;
  private final Rows rows;

  /** @param asking the session of the query; that of the question may be a copy, made for the names of a view */
  Answer(SparkSession asking, BoundQuestion question) {
    this.session = asking;
    this.question = question;
    // Whatever Python's answer says of nulls.
    this.schema = question.schema().asNullable();
    this.about = LogicalPlans.pinned(LogicalPlans.bare(LogicalPlans.inlined(Frames.plan(question.about()))));
    this.rows =
        new Rows(
            asking.sparkContext(),
            () -> asking.withActive(ScalaInterop.supplier(() -> numbered(question.answer(), schema))));
  }

  /** The rows of a frame, of these types. Its columns go by their places, as two of them may have one name. */
  private static RDD<InternalRow> numbered(Dataset<Row> frame, StructType types) {
    StructType numbered = new StructType();
    for (StructField column : types.fields()) {
      numbered = numbered.add(Integer.toString(numbered.length()), column.dataType());
    }
    return Frames.query(frame.toDF(numbered.fieldNames()).to(numbered)).toRdd();
  }

  @Override
  public SQLContext sqlContext() {
    return session.sqlContext();
  }

  @Override
  public StructType schema() {
    return schema;
  }

  /**
   * The size of what is one row, or no more rows than the query says. Spark may send such an answer to all executors for a
   * join. Of groups nobody knows how many there are before they are worked out: Spark finds out as it runs the join.
   */
  @Override
  public long sizeInBytes() {
    Option<Object> rows = question.question().equals("metrics") ? Option.apply(1L) : about.maxRows();
    return rows.isDefined() ? (long) rows.get() * schema.defaultSize() : super.sizeInBytes();
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

  /**
   * Whether Spark may take the cached rows of one for the other: the same was asked about the same versions of the same
   * tables.
   */
  @Override
  public boolean equals(Object other) {
    return other instanceof Answer answer
        && session == answer.session
        && question.question().equals(answer.question.question())
        && question.given().equals(answer.question.given())
        && about.sameResult(answer.about);
  }

  @Override
  public int hashCode() {
    return Objects.hash(question.question(), about.semanticHash());
  }

  @Override
  public String toString() {
    return "qbeast_" + question.question();
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
