/** A machine made of files: what the kernel would say, as a test wants it. */
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { createExporter } from '../../../../../../agent/observability/metrics/host/exporter.ts';
import type { Collector } from '../../../../../../agent/observability/metrics/host/collector.ts';
import type { HostRoots } from '../../../../../../agent/observability/metrics/host/files.ts';
import { createSyntaxCheck } from '../../../../../../transport/net/exposition/syntax.ts';
import { temporaryDirectory } from '../../../../../support/temporary-directory.ts';

/** Files by their path from the root, such as `proc/loadavg`; an array is a link to what it names. */
export type Tree = Readonly<Record<string, string | Uint8Array | readonly [target: string]>>;

/** Files of one directory. */
export function within(directory: string, files: Readonly<Record<string, string>>): Tree {
  return Object.fromEntries(Object.entries(files).map(([name, content]) => [`${directory}/${name}`, `${content}\n`]));
}

/** Writes them into a directory of the test's own. */
export async function hostOf(t: Pick<ExecutionContext, 'teardown'>, tree: Tree): Promise<HostRoots> {
  const root = temporaryDirectory(t);
  for (const directory of ['proc', 'sys']) await mkdir(join(root, directory));
  for (const [path, content] of Object.entries(tree)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await (typeof content === 'string' || content instanceof Uint8Array
      ? writeFile(join(root, path), content)
      : symlink(content[0], join(root, path)));
  }
  return { proc: join(root, 'proc'), sys: join(root, 'sys'), root };
}

/**
 * One scrape of such a machine: the lines of the collectors, without comments, the durations and the build. Fails when
 * it is no exposition.
 */
export async function scrapeOf(
  t: ExecutionContext,
  tree: Tree,
  ...collectors: readonly Collector[]
): Promise<string[]> {
  const text = await createExporter({
    version: '1.2.3',
    roots: await hostOf(t, tree),
    ...(collectors.length > 0 && { collectors }),
  })();
  t.is(expositionProblem(text), null);
  return samplesIn(text);
}

/** What is wrong with it, or null: the syntax, a family that comes twice, or two samples with the same labels. */
export function expositionProblem(text: string): string | null {
  const check = createSyntaxCheck();
  const problem = check.take(Buffer.from(text)) ?? check.end();
  if (problem !== null) return `line ${problem}`;
  return (
    twice(text.split('\n').filter((line) => line.startsWith('# TYPE '))) ??
    twice(
      text
        .split('\n')
        .filter((line) => line !== '' && !line.startsWith('#'))
        .map((line) => line.slice(0, line.lastIndexOf(' '))),
    )
  );
}

function twice(lines: readonly string[]): string | null {
  const seen = new Set<string>();
  for (const line of lines) {
    if (seen.has(line)) return `twice: ${line}`;
    seen.add(line);
  }
  return null;
}

/** The lines that are samples of the machine. */
export function samplesIn(text: string): string[] {
  return text
    .split('\n')
    .filter(
      (line) =>
        line !== '' &&
        !line.startsWith('#') &&
        !line.startsWith('node_scrape_collector_duration_seconds') &&
        !line.startsWith('node_exporter_build_info'),
    );
}
