/**
 * The client that is published for programs of others: two small modules with nothing to install beside them, and the
 * types of the whole service.
 */
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Metafile } from 'esbuild';
import { catalogue } from '../api/catalogue.ts';
import { openApi } from '../api/docs/openapi.ts';
import type { AnyOperation } from '../api/operation.ts';
import packageFile from '../package.json' with { type: 'json' };
import { apiTypes } from './client/api-types.ts';
import { restTypes, type OpenApiDocument } from './client/rest-types.ts';
import { ROUTER_TYPES } from './client/router-types.ts';
import { licenses, LICENSES_FILE } from './licenses.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** Its name. */
export const CLIENT_PACKAGE = '@edge-fleet-control/client';

/** Modules of the package by what is written behind its name. */
export const CLIENT_EXPORTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  '.': { types: './client.d.ts', default: './client.js' },
  './webhooks': { types: './webhooks.d.ts', default: './webhooks.js' },
  './api': { types: './api.d.ts' },
  './openapi': { types: './openapi.d.ts' },
  './router': { types: './router.d.ts' },
};

/** Modules that have code. The client runs in browsers as well, the verification of webhooks in Node. */
const MODULES = ['client', 'webhooks'];

/** Makes the package in a directory; answers what is in its modules. */
export async function buildClient(directory: string): Promise<Metafile> {
  mkdirSync(directory, { recursive: true });
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: MODULES.map((name) => `api/client/${name}.ts`),
    outdir: directory,
    bundle: true,
    format: 'esm',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    target: 'es2022',
    external: ['node:*'],
    metafile: true,
    logLevel: 'warning',
  });
  const operations: readonly AnyOperation[] = Object.values(catalogue);
  const files = {
    'api.d.ts': apiTypes(operations),
    'openapi.d.ts': restTypes(openApi(operations, packageFile.version) as unknown as OpenApiDocument),
    'router.d.ts': ROUTER_TYPES,
    'package.json': `${JSON.stringify(manifest(), null, 2)}\n`,
    [LICENSES_FILE]: licenses([metafile]),
    ...declarations(),
  };
  for (const [file, text] of Object.entries(files)) writeFileSync(join(directory, file), text);
  copyFileSync(join(ROOT, 'deploy/client/README.md'), join(directory, 'README.md'));
  copyFileSync(join(ROOT, 'LICENSE'), join(directory, 'LICENSE'));
  return metafile;
}

/** What the modules declare, by file. They say their types themselves, so nothing that they import is looked at. */
function declarations(): Readonly<Record<string, string>> {
  const directory = mkdtempSync(join(tmpdir(), 'edge-client-'));
  try {
    const options = ['--declaration', '--emitDeclarationOnly', '--isolatedDeclarations', '--noResolve', '--noCheck'];
    const language = ['--ignoreConfig', '--allowImportingTsExtensions', '--target', 'es2024', '--module', 'nodenext'];
    execFileSync(
      process.execPath,
      [
        fileURLToPath(new URL('bin/tsc', import.meta.resolve('typescript/package.json'))),
        ...options,
        ...language,
        '--outDir',
        directory,
        ...MODULES.map((name) => `api/client/${name}.ts`),
      ],
      { cwd: ROOT },
    );
    return Object.fromEntries(
      MODULES.map((name) => [
        `${name}.d.ts`,
        readFileSync(join(directory, `${name}.d.ts`), 'utf8').replaceAll(/(?<=from '\.\/\w+)\.ts(?=')/gu, '.js'),
      ]),
    );
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function manifest() {
  const { version, license, dependencies } = packageFile;
  return {
    name: CLIENT_PACKAGE,
    version,
    description: 'Typed client of an edge fleet control admin: operations, live feeds, webhooks and the types of REST.',
    license,
    type: 'module',
    sideEffects: false,
    exports: CLIENT_EXPORTS,
    // For the types of ./router alone.
    peerDependencies: { '@trpc/server': `^${dependencies['@trpc/server']}` },
    peerDependenciesMeta: { '@trpc/server': { optional: true } },
  };
}
