/**
 * What each program is made of, as CycloneDX 1.6: the packages of which code is in its bundle, not those that were
 * installed to make it. The hash of a package is that of the file which the registry gave, from package-lock.json.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Metafile } from 'esbuild';
import packageFile from '../package.json' with { type: 'json' };
import { packagesOf, type BundledPackage } from './licenses.ts';

/** How such a file is called behind the name of the program. */
export const SBOM_SUFFIX = '.cdx.json';

/** Licences that are one identifier of SPDX, as most manifests have it. */
const SPDX_ID = /^[A-Za-z0-9.+-]+$/u;

/** A hash as CycloneDX writes it. */
export interface ComponentHash {
  readonly alg: 'SHA-256' | 'SHA-512';
  readonly content: string;
}

/** Something that a program is made of, or the program itself. */
export interface Component {
  readonly type: 'application' | 'library' | 'platform';
  readonly name: string;
  readonly version: string;
  readonly purl?: string;
  /** An identifier or expression of SPDX. */
  readonly license?: string;
  readonly hashes?: readonly ComponentHash[];
}

/** Entry points that are programs; chunks that are loaded late are entry points as well. */
const PROGRAM = /^cli\/(?<name>edge(?:-[a-z]+)?)\.ts$/u;

/** The files, of the sources and of packages, of which something is in each program. */
export function programInputs(metafiles: readonly Metafile[]): ReadonlyMap<string, readonly string[]> {
  return new Map(
    metafiles.flatMap(({ outputs }) =>
      Object.entries(outputs).flatMap(([path, { entryPoint }]) => {
        const name = PROGRAM.exec(entryPoint ?? '')?.groups?.['name'];
        return name === undefined ? [] : [[name, inputsBehind(outputs, path)]];
      }),
    ),
  );
}

/** What is in an output, and in all to which it leads. What was left out as unused is not in it. */
function inputsBehind(outputs: Metafile['outputs'], entry: string): readonly string[] {
  const seen = new Set([entry]);
  for (const path of seen)
    for (const { path: next } of outputs[path]?.imports ?? []) if (next in outputs) seen.add(next);
  return [...seen].flatMap((path) =>
    Object.entries(outputs[path]?.inputs ?? {}).flatMap(([input, { bytesInOutput }]) =>
      bytesInOutput > 0 ? input : [],
    ),
  );
}

/** What is in the bundle of a program, as the text of its file. `builtAtMs`: Unix time. */
export function programSbom(name: string, inputs: readonly string[], builtAtMs: number): string {
  const program: Component = {
    type: 'application',
    name,
    version: packageFile.version,
    purl: purl('npm', packageFile.name, packageFile.version),
    license: packageFile.license,
  };
  const integrities = readIntegrities();
  return sbom(
    program,
    packagesOf(inputs).map((one) => libraryOf(one, integrities)),
    builtAtMs,
  );
}

/** A list of parts as the text of its file, the same for the same parts and time. */
export function sbom(subject: Component, parts: readonly Component[], builtAtMs: number): string {
  const components = [...new Map(parts.map((part) => [referenceOf(part), part])).values()];
  const described = {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      timestamp: new Date(builtAtMs).toISOString(),
      component: componentOf(subject),
    },
    components: components.map(componentOf),
    dependencies: [
      { ref: referenceOf(subject), dependsOn: components.map(referenceOf) },
      ...components.map((part) => ({ ref: referenceOf(part) })),
    ],
  };
  return `${JSON.stringify({ $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json', serialNumber: serialOf(described), ...described }, null, 2)}\n`;
}

/** The address of a package among those of all kinds. Source: https://github.com/package-url/purl-spec. */
export function purl(kind: 'npm' | 'generic', name: string, version: string): string {
  return `pkg:${kind}/${name.replace('@', '%40')}@${encodeURIComponent(version)}`;
}

function libraryOf(
  { directory, name, version, license }: BundledPackage,
  integrities: ReadonlyMap<string, string>,
): Component {
  const [alg, content] = integrities.get(directory)?.split('-') ?? [];
  return {
    type: 'library',
    name,
    version,
    purl: purl('npm', name, version),
    ...(license !== '' && { license }),
    ...(alg === 'sha512' &&
      content !== undefined && {
        hashes: [{ alg: 'SHA-512', content: Buffer.from(content, 'base64').toString('hex') }],
      }),
  };
}

/** What npm holds each installed package to, by its directory. */
function readIntegrities(): ReadonlyMap<string, string> {
  const { packages } = JSON.parse(
    readFileSync(fileURLToPath(new URL('../package-lock.json', import.meta.url)), 'utf8'),
  ) as { readonly packages: Readonly<Record<string, { readonly integrity?: string }>> };
  return new Map(
    Object.entries(packages).flatMap(([directory, { integrity }]) =>
      integrity === undefined ? [] : [[directory, integrity]],
    ),
  );
}

function componentOf({ license, hashes, ...rest }: Component) {
  return {
    ...rest,
    'bom-ref': referenceOf(rest),
    ...(license !== undefined && {
      licenses: [SPDX_ID.test(license) ? { license: { id: license } } : { expression: license }],
    }),
    ...(hashes !== undefined && { hashes }),
  };
}

function referenceOf({ type, name, version, purl: address }: Component): string {
  return type === 'application' || address === undefined ? `${name}@${version}` : address;
}

/** A UUID (version 8: of our own making) of the content, so that the same content has the same one. */
function serialOf(described: unknown): string {
  const digits = createHash('sha256').update(JSON.stringify(described)).digest('hex');
  return `urn:uuid:${digits.slice(0, 8)}-${digits.slice(8, 12)}-8${digits.slice(13, 16)}-8${digits.slice(17, 20)}-${digits.slice(20, 32)}`;
}
