package io.pyqbeast.verify;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pyqbeast.commit.TableLog;
import io.pyqbeast.errors.Door;
import io.pyqbeast.spark.DeltaActions;
import io.pyqbeast.spark.ExactSession;
import io.pyqbeast.spark.Frames;
import io.pyqbeast.spark.LogicalPlans;
import io.pyqbeast.spark.ScalaInterop;
import java.io.File;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.Path;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.paths.SparkPath;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.api.java.UDF3;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.deletionvectors.RoaringBitmapArray;
import org.apache.spark.sql.delta.storage.dv.DeletionVectorStore$;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.SerializableConfiguration;
import scala.Option;

/** What the files of a table hold. A file that cannot be read is reported, and stops nothing. */
public final class FileContents {
  private static final StructType VECTOR =
      new StructType()
          .add("rows", DataTypes.LongType)
          .add("last", DataTypes.LongType)
          .add("problem", DataTypes.StringType);

  private static final ObjectMapper JSON = new ObjectMapper();

  private FileContents() {}

  /**
   * Of the deletion vector in the file at a whole location: its rows and the last of them, or why it cannot be read.
   * Size and checksum are compared as in every query of Delta's.
   */
  public static Column vector(TableLog log, Column location, Column offset, Column size) {
    Broadcast<SerializableConfiguration> conf = log.filesDoor().open(() -> configuration(log));
    UDF3<String, Integer, Integer, Row> answer =
        (of, begin, bytes) -> {
          if (of == null) {
            return null;
          }
          try {
            RoaringBitmapArray rows =
                DeletionVectorStore$.MODULE$.createInstance(conf.value().value()).read(new Path(of), begin, bytes);
            Option<Object> last = rows.last();
            return RowFactory.create(rows.cardinality(), last.isDefined() ? last.get() : null, null);
          } catch (Exception e) {
            return RowFactory.create(null, null, Door.words(e));
          }
        };
    return functions.udf(answer, VECTOR).apply(location, offset, size);
  }

  /** How a table's storage is read, for tasks. It is the active session that Delta asks for this. */
  static Broadcast<SerializableConfiguration> configuration(TableLog log) {
    return JavaSparkContext.fromSparkContext(log.session().sparkContext())
        .broadcast(new SerializableConfiguration(log.deltaLog().newDeltaHadoopConf()));
  }

  /** The whole location that Spark's {@code input_file_name()} stands for, spelled as {@code FilesOnDisk} does. */
  public static Column location(Column name) {
    return functions.udf(new Location(), DataTypes.StringType).apply(name);
  }

  /** Rows come file by file, so a name is nearly always that of the row before. */
  private static final class Location implements UDF1<String, String> {
    private static final long serialVersionUID = 1;

    private record Answer(String name, String location) {}

    private transient Answer last;

    @Override
    public String call(String name) {
      Answer answer = last;
      if (answer == null || !answer.name.equals(name)) {
        answer = new Answer(name, SparkPath.fromUrlString(name).toPath().toString());
        last = answer;
      }
      return answer.location;
    }
  }

  /**
   * A session that reads what is in the files, and in which a damaged file ends with its last row that can be read, and
   * stops no query.
   */
  public static SparkSession lenient(SparkSession session) {
    SparkSession lenient = ExactSession.of(session).withoutUploads();
    lenient.conf().set("spark.sql.files.ignoreCorruptFiles", "true");
    // Writers of Parquet leave a checksum with each page, which readers by default do not look at.
    lenient.conf().set("parquet.page.verify-checksum.enabled", "true");
    // Statistics are of texts as the files hold them.
    lenient.conf().set("spark.sql.readSideCharPadding", "false");
    return lenient;
  }

  /**
   * The live rows of some live files, for a session to read.
   *
   * @param request a file with an object of JSON: for each path in the log the bytes of the file, and how many rows its
   *     deletion vector hides, whatever the log says
   */
  public static Dataset<Row> rows(TableLog log, SparkSession session, String request) {
    return Door.reading(session, "the files of " + log.path())
        .open(
            () -> {
              Map<String, long[]> counts =
                  JSON.readValue(new File(request), new TypeReference<Map<String, long[]>>() {});
              List<AddFile> chosen =
                  log.liveFiles().stream()
                      .filter(file -> counts.containsKey(file.path()))
                      .map(file -> DeltaActions.counted(file, counts.get(file.path())[0], counts.get(file.path())[1]))
                      .toList();
              Dataset<Row> rows =
                  log.deltaLog().createDataFrame(log.snapshot(), ScalaInterop.seq(chosen), false, Option.empty());
              return Frames.of(
                  session,
                  LogicalPlans.replaced(
                      Frames.plan(rows), LogicalRelation.class,
                      relation -> LogicalPlans.nullable(LogicalPlans.exact(relation))));
            });
  }

  /** What Delta stores of the rows of a file, as an aggregate of its rows. */
  public static Column statistics(TableLog log) {
    return log.filesDoor().open(() -> log.snapshot().statsCollector());
  }
}
