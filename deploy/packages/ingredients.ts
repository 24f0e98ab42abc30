/** What packages are made of. */
import type { Architecture, PackedFile } from './contents.ts';
import type { NativePackage } from './native.ts';

/** For one kind of machine. */
export interface Ingredients {
  /** What deploy/build.ts made. */
  readonly dist: string;
  readonly node: NativePackage;
  readonly postgres: NativePackage;
  /** Lists of parts by name, for what is no program of ours. */
  readonly sboms: Readonly<Record<'edge-runtime' | 'edge-admin-postgresql', string>>;
  readonly architecture: Architecture;
  /** The agent's first version, laid out; see first-version.ts. */
  readonly firstVersion: readonly PackedFile[];
  /** File with the root of releases that machines are to trust; null: none is brought. */
  readonly root: string | null;
}
