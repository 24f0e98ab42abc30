/**
 * `npm run images -- --out DIR`: container images of the admin, the relay and the agent, as one OCI image layout,
 * without a container engine: of packages of Debian, this Node and the programs as they are published.
 */
import { execFile } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import {
  dataFiles,
  DATA_ENTRY,
  imagePlans,
  NOBODY,
  programFiles,
  runtimeFiles,
  SYSTEMS,
  USERS_HOOK,
  type ImagePlan,
  type SystemName,
} from './contents.ts';
import { archive, layer, type Layer } from './layers.ts';
import { beginLayout, blobsOf, finishLayout, type Architecture } from './layout.ts';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Fetching and unpacking the packages of a system, in ms. */
const SYSTEM_MS_MAX = 900_000;

const USAGE = `npm run images -- --out DIR [--only NAME,…] [--suite SUITE] [--cache DIR] [--dist DIR] [--quick]

  --out DIR      the OCI image layout: podman run oci:DIR:admin, skopeo copy oci:DIR:admin docker://…
  --only NAMES   of admin, relay, agent, agent-rootless; all of them unless given
  --suite SUITE  of Debian; bookworm unless given
  --cache DIR    keeps what was made of packages of Debian, for the next time
  --dist DIR     what npm run build made there, in place of building it
  --quick        compress in seconds: for trying out

Needs tar and mmdebstrap, and root or user namespaces. SOURCE_DATE_EPOCH is the time of all files; that of the last
commit unless set.
`;

const LEFT_OUT = ['doc', 'man', 'locale', 'info', 'lintian', 'bug'].map(
  (directory) => `--dpkgopt=path-exclude=/usr/share/${directory}/*`,
);

await main();

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      out: { type: 'string' },
      only: { type: 'string' },
      suite: { type: 'string', default: 'bookworm' },
      cache: { type: 'string' },
      dist: { type: 'string' },
      quick: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help === true) return void process.stdout.write(USAGE);
  const plans = imagePlans(await git('rev-parse', 'HEAD'));
  const only = values.only?.split(',') ?? plans.map(({ name }) => name);
  const unknown = only.filter((name) => !plans.some((plan) => plan.name === name));
  if (values.out === undefined) return refuse('--out is missing: it should be a directory that is not there yet');
  if (existsSync(values.out)) return refuse(`--out is ${values.out}, which is there already`);
  if (unknown.length > 0) return refuse(`there is no image ${unknown.join(', ')}`);
  const timeS = Number(process.env['SOURCE_DATE_EPOCH'] ?? ((await git('log', '-1', '--format=%ct')) || '0'));

  const work = mkdtempSync(join(tmpdir(), 'edge-images-'));
  try {
    const { suite, cache = null, quick: isQuick } = values;
    const dist = values.dist ?? (await built(join(work, 'dist')));
    const options = { work, out: resolve(values.out), suite, cache, dist, isQuick, timeS };
    await build(
      plans.filter(({ name }) => only.includes(name)),
      options,
    );
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

interface BuildOptions {
  readonly work: string;
  readonly out: string;
  readonly suite: string;
  readonly cache: string | null;
  readonly dist: string;
  readonly isQuick: boolean;
  readonly timeS: number;
}

/** Layers are made once and shared. The layout is whole, or not there. */
async function build(plans: readonly ImagePlan[], options: BuildOptions): Promise<void> {
  const { work, out, dist, timeS } = options;
  const architecture = architectureOf(process.arch);
  const layout = join(work, 'layout');
  beginLayout(layout);
  const made = new Map<string, Promise<Layer>>();
  const once = (what: string, make: () => Promise<Layer>): Promise<Layer> => {
    const known = made.get(what) ?? make();
    made.set(what, known);
    return known;
  };
  const images = [];
  for (const { name, system, program, config } of plans) {
    const layers = [
      await once(system, () => systemLayer(system, layout, options)),
      await once('node', () => filesLayer('Node', layout, options, (root) => runtimeFiles(root, process.execPath))),
      await once(program, () =>
        filesLayer(program, layout, options, (root) => programFiles(root, program, dist, modulesOf())),
      ),
      await once(`data of ${config.user}`, () =>
        filesLayer('data', layout, options, dataFiles, config.user === '0:0' ? 0 : NOBODY, [DATA_ENTRY]),
      ),
    ];
    images.push({ name, architecture, config, layers });
  }
  const digests = finishLayout(layout, images, timeS);
  mkdirSync(dirname(out), { recursive: true });
  await run('cp', ['--archive', layout, out]);
  for (const { name, layers } of images)
    process.stdout.write(
      `${name} ${digests[name]} ${(layers.reduce((sum, { bytes }) => sum + bytes, 0) / 1_048_576).toFixed(1)} MiB\n`,
    );
}

/** The programs as they are published, in this directory. */
async function built(dist: string): Promise<string> {
  await run(process.execPath, [join(ROOT, 'deploy/build.ts'), dist], { cwd: ROOT });
  return dist;
}

/** Packages of Debian, and the users of the image. */
async function systemLayer(name: SystemName, layout: string, options: BuildOptions): Promise<Layer> {
  const { work, suite, cache, isQuick, timeS } = options;
  const { variant, packages } = SYSTEMS[name];
  const kept = cache === null ? null : join(resolve(cache), `${suite}-${process.arch}-${name}-${timeS}.tar`);
  const tarFile = join(work, `${name}.tar`);
  if (kept !== null && existsSync(kept)) copyFileSync(kept, tarFile);
  else {
    await run(
      'mmdebstrap',
      [
        `--variant=${variant}`,
        `--include=${packages.join(',')}`,
        ...LEFT_OUT,
        `--customize-hook=${USERS_HOOK}`,
        suite,
        tarFile,
      ],
      {
        timeout: SYSTEM_MS_MAX,
        maxBuffer: 64 * 1_048_576,
        env: { ...process.env, SOURCE_DATE_EPOCH: String(timeS) },
      },
    );
    if (kept !== null) {
      mkdirSync(dirname(kept), { recursive: true });
      copyFileSync(tarFile, kept);
    }
  }
  return layer(tarFile, { blobs: blobsOf(layout), what: `Debian ${suite}: ${packages.join(' ')}`, isQuick });
}

async function filesLayer(
  what: string,
  layout: string,
  { work, isQuick, timeS }: BuildOptions,
  fill: (root: string) => void,
  owner = 0,
  entries?: readonly string[],
): Promise<Layer> {
  const root = mkdtempSync(join(work, 'files-'));
  fill(root);
  const tarFile = `${root}.tar`;
  const archived = { directory: root, entries: entries ?? readdirSync(root), owner: { user: owner, group: owner } };
  await archive(archived, tarFile, timeS);
  return layer(tarFile, { blobs: blobsOf(layout), what, isQuick });
}

/** Where npm put the packages that the programs find beside them. */
function modulesOf(): string {
  return join(createRequire(import.meta.url).resolve('ws/package.json'), '../..');
}

function architectureOf(arch: string): Architecture {
  if (arch === 'x64') return 'amd64';
  if (arch === 'arm64') return 'arm64';
  throw new Error(`There are no images for ${arch}: this Node should run on x64 or arm64.`);
}

/** Empty where there is no repository. */
async function git(...args: string[]): Promise<string> {
  return run('git', args, { cwd: ROOT }).then(
    ({ stdout }) => stdout.trim(),
    () => '',
  );
}

function refuse(problem: string): void {
  process.stderr.write(`images: ${problem}\n`);
  process.exitCode = 2;
}
