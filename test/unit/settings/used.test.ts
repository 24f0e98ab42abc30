/**
 * A setting that no code uses is a promise that nobody keeps: each is read somewhere beyond the place where it is
 * declared.
 */
import test from 'ava';
import { AGENT_SETTINGS } from '../../../agent/config.ts';
import { UPDATER_SETTINGS } from '../../../agent/updater/settings.ts';
import { ADMIN_SETTINGS } from '../../../settings/admin.ts';
import { RELAY_SETTINGS } from '../../../settings/relay.ts';
import { trackedFiles, withoutComments, withoutLiterals, type SourceFile } from '../../support/source/source-text.ts';

/** What is shipped. The demo and the others only set them. */
const SHIPPED =
  /^(?:actors|agent|api|cli|persistence|settings|supervisors|transport)\/.*\.ts$|^(?:main|config|log)\.ts$/u;

/** Here settings are also asked for by a function that is given their names. */
const BY_NAME = 'settings/broker-choice.ts';

/** Here settings are held against each other, and fall back to each other. */
const CHECKED = /^settings\/(?:admin|clusters|debug-dashboard|storage|vpn)\.ts$/u;

/**
 * Uses of names that look like settings: as a property of something, or taken out of something by its name. Fallbacks
 * and contradictions (`read.NAME`) use nothing.
 */
function usedNames(files: readonly SourceFile[]): ReadonlySet<string> {
  return new Set(
    files
      .filter(({ path }) => SHIPPED.test(path) && !path.startsWith('cli/demo'))
      .flatMap(({ path, text }) => {
        const code = withoutLiterals(text);
        const properties = [...code.matchAll(/(\bread)?\??\.([A-Z][A-Z\d]*(?:_[A-Z\d]+)+)\b/gu)]
          .filter(([, read]) => read === undefined || !CHECKED.test(path))
          .map(([, , name]) => name ?? '');
        const taken = [...code.matchAll(/\{([^{}()]*)\}\s*(?:=(?!=)|:)/gu)].flatMap(([, names = '']) => [
          ...names.matchAll(/\b([A-Z][A-Z\d]*(?:_[A-Z\d]+)+)\b/gu),
        ]);
        const asked =
          path === BY_NAME
            ? [...withoutComments(text).matchAll(/[(,]\s*'([A-Z\d_]+)'/gu)].map(([, name]) => name ?? '')
            : [];
        return [...properties, ...asked, ...taken.map(([, name]) => name ?? '')];
      }),
  );
}

/** Read as they are in the environment, all that begin so: by the exporter of traces. */
const AS_GIVEN = /^OTEL_/u;

test('every setting is used by code', (t) => {
  const used = usedNames(trackedFiles());
  const names = [
    ...new Set(
      [ADMIN_SETTINGS, AGENT_SETTINGS, RELAY_SETTINGS, UPDATER_SETTINGS].flatMap((shape) => Object.keys(shape)),
    ),
  ];

  t.deepEqual(
    names.filter((name) => !used.has(name) && !AS_GIVEN.test(name)),
    [],
  );
});

test('a setting that is declared, written into an environment or only checked is found to be unused', (t) => {
  const file = (text: string, path = 'transport/a.ts'): SourceFile => ({ path, text });

  t.deepEqual(
    [
      ...usedNames([
        file('export const X = { A_B: flag() };\nif (read.C_D === 1) refuse();', 'settings/storage.ts'),
        file("const env = { E_F: '1' };", 'cli/demo/fleet.ts'),
        file('x(config.G_H); const { I_J, K_L: alias } = config; function f({ M_N }: P) {}'),
      ]),
    ].toSorted(),
    ['G_H', 'I_J', 'K_L', 'M_N'],
  );
});
