/** Lists of parts, against the schema of CycloneDX and against the bundles. */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import test from 'ava';
import { bundlePrograms } from '../../../deploy/bundles.ts';
import { programInputs, programSbom, sbom, type Component } from '../../../deploy/sbom.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

interface Listed {
  readonly serialNumber: string;
  readonly components: readonly { readonly name: string; readonly licenses?: unknown; readonly hashes?: unknown }[];
}

const SCHEMAS = join(
  dirname(fileURLToPath(import.meta.resolve('@cyclonedx/cyclonedx-library/package.json'))),
  'res/schema',
);

/** What the schema says against a list; nothing where it is one. */
const problems = ((): ((text: string) => string) => {
  const ajv = new Ajv({ strict: false, validateFormats: true });
  addFormats.default(ajv);
  for (const format of ['idn-email', 'iri-reference']) ajv.addFormat(format, true); // of draft 2019, and unused here
  for (const name of ['spdx', 'jsf-0.82'])
    ajv.addSchema(schema(name), `http://cyclonedx.org/schema/${name}.SNAPSHOT.schema.json`);
  const validate = ajv.compile(schema('bom-1.6'));
  return (text) => (validate(JSON.parse(text)) ? '' : ajv.errorsText(validate.errors));
})();

test('the list of each program is valid, and names what is in it with licence and hash', async (t) => {
  const metafiles = await bundlePrograms(temporaryDirectory(t));
  const inputs = programInputs(metafiles);

  t.true(['edge', 'edge-admin', 'edge-agent'].every((name) => inputs.has(name)));
  for (const [name, files] of inputs) {
    const text = programSbom(name, files, 0);
    const { components } = JSON.parse(text) as Listed;

    t.is(problems(text), '', name);
    t.true(
      components.some(({ name: part }) => part === 'zod'),
      name,
    );
    t.deepEqual(
      components.filter(({ licenses, hashes }) => licenses === undefined || hashes === undefined),
      [],
      name,
    );
  }
  const listed = (name: string): readonly string[] =>
    (JSON.parse(programSbom(name, inputs.get(name) ?? [], 0)) as Listed).components.map((part) => part.name);
  t.true(listed('edge-admin').includes('pg'));
  t.false(listed('edge').includes('pg'));
  t.false(listed('edge-agent').includes('esbuild'));
});

test('the same parts make the same list, and another part another one', (t) => {
  const program: Component = { type: 'application', name: 'a', version: '1' };
  const part: Component = { type: 'library', name: 'b', version: '2', license: 'MIT OR Apache-2.0' };
  const serial = (text: string): string => (JSON.parse(text) as Listed).serialNumber;

  t.is(problems(sbom(program, [part], 0)), '');
  t.is(sbom(program, [part], 0), sbom(program, [part], 0));
  t.not(serial(sbom(program, [part], 0)), serial(sbom(program, [], 0)));
});

test('the schema finds what is wrong', (t) => {
  const program: Component = { type: 'application', name: 'a', version: '1' };

  t.regex(problems(sbom({ ...program, license: 'No-Such-Licence' }, [], 0)), /license/u);
  t.regex(problems(sbom({ ...program, hashes: [{ alg: 'SHA-256', content: 'x' }] }, [], 0)), /hashes/u);
});

function schema(name: string): Record<string, unknown> {
  return JSON.parse(readFileSync(join(SCHEMAS, `${name}.SNAPSHOT.schema.json`), 'utf8')) as Record<string, unknown>;
}
