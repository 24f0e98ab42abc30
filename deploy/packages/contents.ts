/** What a package is, for whatever system it is made. */

/** Machines for which packages are made, by the names of Debian. */
export const ARCHITECTURES = ['amd64', 'arm64'] as const;
export type Architecture = (typeof ARCHITECTURES)[number];

/** How others call them. */
export const NAMES_OF_ARCHITECTURES = {
  amd64: { npm: 'x64', rpm: 'x86_64' },
  arm64: { npm: 'arm64', rpm: 'aarch64' },
} as const satisfies Readonly<Record<Architecture, { readonly npm: string; readonly rpm: string }>>;

/** Every package, in the order in which they are made. */
export const PACKAGES = [
  'edge-runtime',
  'edge-admin-postgresql',
  'edge-admin',
  'edge',
  'edge-agent',
  'edge-updater',
] as const;
/** One of them. */
export type PackageName = (typeof PACKAGES)[number];

/** What a file holds: another file, a text, or where a link leads. */
export type Content =
  | { readonly file: string }
  | { readonly text: string }
  | { readonly bytes: Uint8Array }
  | { readonly link: string };

/** One file of a package. Directories are made as they are needed. */
export interface PackedFile {
  /** Where it is on the machine, without the first slash. */
  readonly path: string;
  readonly content: Content;
  /** Its rights, 0o644 unless given. */
  readonly mode?: number;
  /** Changed by operators: an upgrade keeps their text. */
  readonly isConfiguration?: boolean;
}

/** Something that is installed as a whole. */
export interface Package {
  readonly name: PackageName;
  /** Of this project, or of what is packed. */
  readonly version: string;
  /** Null: it fits every machine. */
  readonly architecture: Architecture | null;
  readonly section: 'admin' | 'database' | 'javascript' | 'net';
  readonly summary: string;
  /** Paragraphs. */
  readonly description: readonly string[];
  /** Licences of what is in it, as SPDX writes them. */
  readonly license: string;
  readonly files: readonly PackedFile[];
  /** Directories without files in them. */
  readonly directories?: readonly string[];
  readonly depends: Relations;
  readonly recommends?: Relations;
  readonly suggests?: Relations;
  /** Run after the files are there and before they go; see files/setup-admin.sh. */
  readonly setup?: Setup;
  /** What lintian says of it and is meant so: the tag with its context, and why. */
  readonly lintianOverrides?: readonly (readonly [tag: string, why: string])[];
}

/** Other packages, by the system whose names these are. */
export interface Relations {
  readonly deb: readonly string[];
  readonly rpm: readonly string[];
}

/** What a package does on the machine besides being there. */
export interface Setup {
  /** Program of the package, called `<program> first|upgrade|remove`. */
  readonly program: string;
  /** Account that its service has, which goes with `purge`. */
  readonly user?: string;
  /** What its service wrote, which goes with `purge`. */
  readonly data: readonly string[];
  /** A file with which it is not installed, and why. */
  readonly refusedBy?: { readonly file: string; readonly problem: string };
}

/** A summary that may be shown in a list. In characters. Source: lintian's tag synopsis-too-long. */
export const SUMMARY_CHARACTERS_MAX = 80;
