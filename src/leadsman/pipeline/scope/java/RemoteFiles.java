package leadsman;

import java.io.EOFException;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RemoteIterator;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.deploy.SparkHadoopUtil;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.api.java.UDF4;

/**
 * Lists and reads files of every file system of Hadoop, as two functions of Spark SQL. They run in tasks.
 *
 * <p>Spark's own sources cannot read a file in pieces: one row holds a whole file, 2 GB at most. Nor can a task be
 * assigned the files that it reads.
 */
public final class RemoteFiles {
  private static final String PREFIX = "spark.hadoop.";
  private static final Map<String, FileSystem> FILE_SYSTEMS = new ConcurrentHashMap<>();
  private static final ThreadLocal<Reading> READING = ThreadLocal.withInitial(Reading::new);

  private RemoteFiles() {}

  /** Returns the files below a root: path, name, bytes, time of change in milliseconds, and why it is not readable. */
  public static final class Listing implements UDF1<String, List<Row>> {
    @Override
    public List<Row> call(String root) {
      List<Row> rows = new ArrayList<>();
      try {
        Path path = new Path(root);
        FileSystem files = fileSystem(path);
        FileStatus status = files.getFileStatus(path);
        if (status.isDirectory()) {
          below(files, status.getPath(), rows);
        } else {
          rows.add(row(status, status.getPath().getName()));
        }
      } catch (Exception error) {
        rows.clear();
        rows.add(RowFactory.create(root, null, 0L, 0L, reason(error)));
      }
      return rows;
    }

    private static void below(FileSystem files, Path root, List<Row> rows) throws IOException {
      try {
        RemoteIterator<? extends FileStatus> all = files.listFiles(root, true); // object stores list recursively in one call
        while (all.hasNext()) {
          FileStatus status = all.next();
          rows.add(row(status, name(root, status.getPath())));
        }
      } catch (IOException error) {
        rows.clear(); // one folder may not be readable: list each by itself
        walk(files, root, root, rows);
      }
    }

    private static void walk(FileSystem files, Path root, Path folder, List<Row> rows) throws IOException {
      FileStatus[] inside;
      try {
        inside = files.listStatus(folder);
      } catch (IOException error) {
        if (folder.equals(root)) {
          throw error;
        }
        rows.add(RowFactory.create(folder.toString(), name(root, folder), 0L, 0L, reason(error)));
        return;
      }
      for (FileStatus status : inside) {
        if (status.isDirectory()) {
          walk(files, root, status.getPath(), rows);
        } else {
          rows.add(row(status, name(root, status.getPath())));
        }
      }
    }

    private static String name(Path root, Path path) {
      String above = root.toUri().getPath();
      String whole = path.toUri().getPath();
      return whole.substring(above.endsWith("/") ? above.length() : above.length() + 1);
    }

    private static Row row(FileStatus status, String name) {
      return RowFactory.create(
          status.getPath().toString(), name, status.getLen(), status.getModificationTime(), null);
    }
  }

  /** Returns the content of a piece, or why it cannot be read, by path, bytes of the file, offset and length. */
  public static final class Piece implements UDF4<String, Long, Long, Integer, Row> {
    @Override
    public Row call(String path, Long bytes, Long offset, Integer length) {
      return READING.get().piece(path, bytes, offset, length);
    }
  }

  /** The file that a task's thread reads, opened once for all its pieces. */
  private static final class Reading {
    private String path;
    private FSDataInputStream stream;
    private long position;
    private String failed;

    Row piece(String requested, long bytes, long offset, int length) {
      if (!requested.equals(path)) {
        close();
        path = requested;
        failed = null;
      }
      if (failed == null) {
        try {
          return RowFactory.create(read(bytes, offset, length), null);
        } catch (Exception error) {
          close();
          failed = reason(error);
        } finally {
          if (offset + length >= bytes) {
            close();
            path = null;
          }
        }
      }
      return RowFactory.create(null, failed);
    }

    private byte[] read(long bytes, long offset, int length) throws Exception {
      byte[] content = new byte[length];
      if (length == 0) {
        return content;
      }
      if (stream == null) {
        stream = open(new Path(path), bytes);
        position = 0;
      }
      if (position != offset) {
        stream.seek(offset);
      }
      stream.readFully(content);
      position = offset + length;
      return content;
    }

    private static FSDataInputStream open(Path path, long bytes) throws Exception {
      return fileSystem(path)
          .openFile(path)
          .opt("fs.option.openfile.length", Long.toString(bytes)) // spares object stores a request
          .opt("fs.option.openfile.read.policy", "sequential")
          .build()
          .get();
    }

    private void close() {
      try {
        if (stream != null) {
          stream.close();
        }
      } catch (IOException ignored) {
        // the file is not read any further
      }
      stream = null;
    }
  }

  /** Returns the file system of a path with the session's own settings, which Spark Connect sends with each task. */
  private static FileSystem fileSystem(Path path) throws IOException {
    Map<String, String> own = settings();
    String key = path.toUri().getScheme() + "://" + path.toUri().getAuthority() + own;
    FileSystem known = FILE_SYSTEMS.get(key);
    if (known == null) {
      Configuration all = SparkHadoopUtil.get().newConfiguration(SparkEnv.get().conf());
      own.forEach(all::set);
      FileSystem opened = own.isEmpty() ? path.getFileSystem(all) : FileSystem.newInstance(path.toUri(), all);
      known = FILE_SYSTEMS.putIfAbsent(key, opened);
      known = known == null ? opened : known;
    }
    return known;
  }

  private static Map<String, String> settings() {
    Map<String, String> own = new TreeMap<>();
    TaskContext task = TaskContext.get();
    Properties all = task == null ? new Properties() : task.getLocalProperties();
    for (String key : all.stringPropertyNames()) {
      if (key.startsWith(PREFIX)) {
        own.put(key.substring(PREFIX.length()), all.getProperty(key));
      }
    }
    return own;
  }

  private static String reason(Exception error) {
    Throwable cause = error;
    while (cause instanceof java.util.concurrent.ExecutionException && cause.getCause() != null) {
      cause = cause.getCause();
    }
    if (cause instanceof EOFException) {
      return "the file is shorter than when it was listed: it has changed since";
    }
    if (cause instanceof FileNotFoundException) {
      return "there is no such file or folder";
    }
    String message = String.valueOf(cause.getMessage()).lines().findFirst().orElse("");
    return cause.getClass().getSimpleName() + ": " + message.substring(0, Math.min(300, message.length()));
  }
}
