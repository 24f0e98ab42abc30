/** Reads a program's environment through one zod shape, and tells the operator in one line what is wrong with it. */
import { readFileSync, statSync } from 'node:fs';
import { z } from 'zod';

/**
 * The settings of a program: environment variable name → zod schema that takes its text. Make the schemas with
 * `settings/fields.ts`.
 */
export type SettingsShape = Readonly<Record<string, z.ZodType>>;

/** What a shape reads to. */
export type Settings<Shape extends SettingsShape> = { readonly [Name in keyof Shape]: z.output<Shape[Name]> };

/** Either every setting, or every problem: one line each, naming the setting, what it was and what it should be. */
export type SettingsResult<Shape extends SettingsShape> =
  | { readonly ok: true; readonly settings: Settings<Shape> }
  | { readonly ok: false; readonly problems: readonly string[] };

/** What a schema says about its setting, by zod's `.meta()`, at any depth of wrapping. */
export interface SettingMeta {
  /** The value is never printed, and may come from the file that NAME_FILE names. */
  readonly secret?: boolean;
  /** What a value should be, to stand after "it should be": `a whole number from 1 to 65535`. */
  readonly expected?: string;
  /** The default in words, where it is computed: `the host name`. */
  readonly defaultText?: string;
  /** One sentence for the tables. */
  readonly description?: string;
}

/**
 * Largest file that NAME_FILE may name, in bytes. Keys are far smaller; it keeps a wrong path from filling the memory.
 */
export const SECRET_FILE_BYTES_MAX = 65_536;

/** Longest piece of a wrong value that a problem repeats, in characters. */
const SHOWN_CHARACTERS_MAX = 80;

/** Width of the help, in columns. */
const HELP_COLUMNS = 110;

/**
 * The settings in `env`. An empty value counts as unset, unknown variables are ignored, and all problems are reported
 * at once. A setting marked secret may be given as NAME_FILE, the path of a file holding it (one trailing newline is
 * dropped).
 */
export function readSettings<Shape extends SettingsShape>(
  shape: Shape,
  env: Readonly<Record<string, string | undefined>>,
): SettingsResult<Shape> {
  const settings: Record<string, unknown> = {};
  const problems: string[] = [];

  for (const [name, schema] of Object.entries(shape)) {
    const meta = metaOf(schema);
    const given =
      meta.secret === true ? secretText(name, env) : { ok: true as const, text: unset(env[name]), from: name };
    if (!given.ok) {
      problems.push(given.problem);
      continue;
    }
    const parsed = schema.safeParse(given.text);
    if (parsed.success) settings[name] = parsed.data;
    else problems.push(problemLine(given.from, given.text, meta, parsed.error));
  }
  return problems.length > 0 ? { ok: false, problems } : { ok: true, settings: settings as Settings<Shape> };
}

/** The names of the settings, those of files that hold secret ones included. */
export function settingNames(shape: SettingsShape): readonly string[] {
  return Object.entries(shape).flatMap(([name, schema]) =>
    metaOf(schema).secret === true ? [name, `${name}_FILE`] : [name],
  );
}

/** The settings as an aligned text table for `--help`: name, default, description. */
export function settingsHelp(shape: SettingsShape): string {
  const rows = describeSettings(shape);
  const nameWidth = Math.max(...rows.map((row) => row.name.length));
  const defaultWidth = Math.min(24, Math.max(...rows.map((row) => row.default.length)));
  const indent = 2 + nameWidth + 2 + defaultWidth + 2;

  return rows
    .map((row) => {
      const head = `  ${row.name.padEnd(nameWidth)}  ${row.default.padEnd(defaultWidth)}  `;
      const lines = wrap(row.description, Math.max(30, HELP_COLUMNS - indent));
      const first = head.length > indent ? `${head.trimEnd()}\n${' '.repeat(indent)}` : head;
      return `${first}${lines.join(`\n${' '.repeat(indent)}`)}\n`;
    })
    .join('');
}

/** The settings as a Markdown table for docs/settings.md: name, default, description. */
export function settingsMarkdown(shape: SettingsShape): string {
  const cell = (text: string) => text.replaceAll('|', '\\|');
  const rows = describeSettings(shape).map((row) => {
    const value = row.isLiteral ? `\`${cell(row.default)}\`` : cell(row.default);
    return `| \`${row.name}\` | ${value} | ${cell(row.description)} |\n`;
  });
  return `| Setting | Default | Meaning |\n|---|---|---|\n${rows.join('')}`;
}

interface Row {
  readonly name: string;
  readonly default: string;
  readonly isLiteral: boolean;
  readonly description: string;
}

function describeSettings(shape: SettingsShape): Row[] {
  return Object.entries(shape).map(([name, schema]) => {
    const meta = metaOf(schema);
    const fallback = schema.safeParse(undefined);
    const literal = fallback.success ? literalText(fallback.data) : undefined;
    const notes = [
      meta.description,
      meta.expected && `Takes ${meta.expected}.`,
      meta.secret && `Secret; also as ${name}_FILE.`,
    ];
    return {
      name,
      default: meta.defaultText ?? literal ?? (fallback.success ? 'unset' : 'required'),
      isLiteral: meta.defaultText === undefined && literal !== undefined,
      description: notes.filter(Boolean).join(' '),
    };
  });
}

function literalText(value: unknown): string | undefined {
  if (Array.isArray(value)) return value.length > 0 ? value.join(',') : undefined;
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : undefined;
}

type Given =
  | { readonly ok: true; readonly text: string | undefined; readonly from: string }
  | { readonly ok: false; readonly problem: string };

function secretText(name: string, env: Readonly<Record<string, string | undefined>>): Given {
  const text = unset(env[name]);
  const fileName = `${name}_FILE`;
  const path = unset(env[fileName]);
  if (path === undefined) return { ok: true, text, from: name };
  if (text !== undefined)
    return { ok: false, problem: `${name} and ${fileName} are both set: it should be one of them` };

  const problem = (what: string) =>
    `${fileName} is ${quoted(path)}: ${what}; it should be a readable file of at most ${SECRET_FILE_BYTES_MAX} bytes that holds ${name}`;
  try {
    if (statSync(path).size > SECRET_FILE_BYTES_MAX) return { ok: false, problem: problem('the file is too large') };
    const content = unset(readFileSync(path, 'utf8').replace(/\r?\n$/u, ''));
    return content === undefined
      ? { ok: false, problem: problem('the file is empty') }
      : { ok: true, text: content, from: fileName };
  } catch (error) {
    return {
      ok: false,
      problem: problem(`the file cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown error'})`),
    };
  }
}

function problemLine(name: string, text: string | undefined, meta: SettingMeta, error: z.ZodError): string {
  const particular = error.issues
    .flatMap((issue) => (issue.code === 'custom' ? [issue.params?.['expected'] as unknown] : []))
    .find((one) => typeof one === 'string');
  const expected = particular ?? meta.expected ?? error.issues.map((issue) => issue.message).join('; ');
  return `${name} ${was(text, meta)}: it should be ${expected}`.replaceAll(/\s+/gu, ' ');
}

function was(text: string | undefined, meta: SettingMeta): string {
  if (text === undefined) return 'is not set';
  return meta.secret === true ? `holds a value of ${text.length} characters that does not fit` : `is ${quoted(text)}`;
}

/**
 * The value in quotes, cut, with control characters escaped. What stands before its last @ may be credentials, also
 * where no URL parser would find them.
 */
function quoted(text: string): string {
  const at = text.lastIndexOf('@');
  const [scheme = ''] = /^[a-z][a-z\d+.-]*:\/\//iu.exec(text) ?? [];
  const safe = text.slice(0, Math.max(0, at)).includes(':') ? `${scheme}***${text.slice(at)}` : text;
  return JSON.stringify(safe.length > SHOWN_CHARACTERS_MAX ? `${safe.slice(0, SHOWN_CHARACTERS_MAX)}…` : safe);
}

function unset(text: string | undefined): string | undefined {
  return text === '' ? undefined : text;
}

/**
 * Metadata sits on whichever layer `.meta()` was called, so every wrapper (default, optional, pipe …) is looked
 * through; the outer one wins.
 */
function metaOf(schema: z.ZodType): SettingMeta {
  const definition = schema.def as { readonly innerType?: z.ZodType; readonly in?: z.ZodType };
  const inner = definition.innerType ?? definition.in;
  return { ...(inner ? metaOf(inner) : {}), ...(z.globalRegistry.get(schema) as SettingMeta | undefined) };
}

function wrap(text: string, columns: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > columns) {
      lines.push(line);
      line = word;
    } else {
      line = line === '' ? word : `${line} ${word}`;
    }
  }
  lines.push(line);
  return lines;
}
