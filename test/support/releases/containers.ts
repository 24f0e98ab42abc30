/** Containers of our images, by podman with a store of its own: rootful, on the network of this machine. */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { symlinkSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { scaled } from '../busy.ts';
import { Program } from '../fleet/program.ts';
import type { Scope } from '../scope.ts';
import { ROOT } from '../source/source-text.ts';
import { temporaryDirectory } from '../temporary-directory.ts';

const run = promisify(execFile);

/** Making images: packages of Debian are fetched, unpacked and compressed. In ms. */
const IMAGES_MS_MAX = 900_000;

/** Of one call of podman that is no run, in ms. */
const CALL_MS_MAX = 120_000;

/** The time of every file in the images of tests, so that what is made of packages is found again. Unix, s. */
const EPOCH_S = '1760000000';

/** Old runtimes refuse a machine that has both kinds of control groups: one of them is out of their sight. */
const ONE_HIERARCHY = 'umount /sys/fs/cgroup/unified 2>/dev/null; exec podman "$@"';

/** Limits are set to what whoever runs the tests has, or less: no rights beyond that are needed. */
const LIMITS = ['--ulimit', 'nofile=1024:1024', '--ulimit', 'nproc=1024:1024'];

const CONFINED = [
  '--read-only',
  '--read-only-tmpfs=false',
  '--tmpfs=/tmp',
  '--cap-drop=all',
  '--security-opt=no-new-privileges',
];

/** Makes images as `npm run images` does, quickly compressed, and answers what it said. */
export async function makeImages(out: string, cache: string, ...args: readonly string[]): Promise<string> {
  const program = [join(ROOT, 'deploy/images/build.ts'), '--out', out, '--cache', cache, '--quick', ...args];
  const { stdout } = await run(process.execPath, program, {
    cwd: ROOT,
    env: { ...process.env, SOURCE_DATE_EPOCH: EPOCH_S },
    timeout: scaled(IMAGES_MS_MAX),
  });
  return stdout;
}

/** How a container is run. */
export interface ContainerOptions {
  readonly name: string;
  /** In an OCI layout, as `oci:DIR:NAME`. */
  readonly image: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly command?: readonly string[];
  /** As the Helm chart runs it: nothing but its volume and /tmp can be written, and it has no capability. */
  readonly isConfined?: boolean;
}

/** A path to a layout that podman takes, which makes the name of an image of it: in lower case. */
export function lowerCasePath(scope: Scope, layout: string): string {
  const path = join(tmpdir(), `edge-images-${randomBytes(8).toString('hex')}`);
  symlinkSync(layout, path);
  scope.teardown(async () => {
    await rm(path, { force: true });
  });
  return path;
}

/** A store of images and containers that goes with the test. */
export class Podman {
  readonly #scope: Scope;
  readonly #words: readonly string[];

  constructor(scope: Scope) {
    const directory = temporaryDirectory(scope);
    this.#scope = scope;
    this.#words = [
      '--mount',
      'sh',
      '-c',
      ONE_HIERARCHY,
      'podman',
      `--root=${join(directory, 'root')}`,
      `--runroot=${join(directory, 'run')}`,
      '--storage-driver=overlay',
      '--cgroup-manager=cgroupfs',
      '--events-backend=none',
    ];
    scope.teardown(async () => {
      await this.call('rm', '--all', '--force', '--time', '0');
    });
  }

  /** One call, and what it said. */
  async call(...args: readonly string[]): Promise<string> {
    return (await run('unshare', [...this.#words, ...args], { timeout: scaled(CALL_MS_MAX) })).stdout;
  }

  /** Starts a container that lasts as long as this program, which passes signals on. */
  start({ name, image, env = {}, command = [], isConfined = false }: ContainerOptions): Program {
    const options = [
      '--rm',
      `--name=${name}`,
      '--network=host',
      '--cgroups=disabled',
      ...LIMITS,
      ...(isConfined ? CONFINED : []),
      ...Object.entries(env).flatMap(([variable, value]) => ['--env', `${variable}=${value}`]),
    ];
    return Program.run(this.#scope, 'unshare', [...this.#words, 'run', ...options, image, ...command]);
  }
}
