/** What receivers echo does not bring the headers of a webhook into the log. */
import { array, assert, constantFrom, property, string } from 'fast-check';
import test from 'ava';
import { hideValues } from '../../../../../transport/events/webhooks/hidden-values.ts';

test('values of headers are blanked in answers, whole, by their words, and where the answer was cut in one', (t) => {
  const hide = hideValues(['Bearer s3cret-token-of-mine', 'short', 'team-7-key']);

  t.is(
    hide('{"authorization":"Bearer s3cret-token-of-mine","x":"team-7-key"}'),
    '{"authorization":"[hidden]","x":"[hidden]"}',
  );
  t.is(hide('token s3cret-token-of-mine!'), 'token [hidden]!');
  t.is(hide('… s3cret-tok'), '… [hidden]');
  t.is(hide('a short answer'), 'a short answer');
});

const SECRET = 'Bearer ab/cdEF+12"gh<&>\\\'~secret==';
const WORD = SECRET.slice('Bearer '.length);
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const hex = (text: string): string => Buffer.from(text).toString('hex');
const json = (text: string): string => JSON.stringify(text).slice(1, -1);
const html = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

/** How an echo writes a text, by what makes it. */
const FORMS: Readonly<Record<string, (text: string) => string>> = {
  'plain text': (text) => text,
  JSON: json,
  'JSON of PHP': (text) => json(text).replaceAll('/', String.raw`\/`),
  'JSON of Go': (text) =>
    json(text).replaceAll(/[<>&]/gu, (char) => String.raw`\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`),
  'JSON in JSON': (text) => json(json(text)),
  'a URL': encodeURIComponent,
  'a URL in small letters': (text) => encodeURIComponent(text).replaceAll(/%../gu, (escape) => escape.toLowerCase()),
  'a form': (text) => new URLSearchParams({ text }).toString().slice('text='.length),
  'HTML of PHP': (text) => html(text).replaceAll("'", '&#039;'),
  'HTML of Python': (text) => html(text).replaceAll("'", '&#x27;'),
  base64,
  'base64 behind one byte': (text) => base64(`x${text}`),
  'base64 behind two bytes': (text) => base64(`xy${text}`),
  base64url: (text) => Buffer.from(text).toString('base64url'),
  hex,
  'hex in capital letters': (text) => hex(text).toUpperCase(),
};

for (const [form, write] of Object.entries(FORMS)) {
  test(`a value that is echoed as ${form} is blanked, whole, by its word, and where it is cut`, (t) => {
    const hide = hideValues([SECRET]);

    for (const value of [SECRET, WORD]) {
      t.regex(hide(`<${write(value)}>`), /^<.{0,3}\[hidden\].{0,4}>$/u);
      // six bits of base64 and its padding say nothing, nor does an escape that is cut in itself
      for (let chars = write(value.slice(0, 12)).length; chars < write(value).length; chars += 1)
        t.regex(hide(`<${write(value).slice(0, chars)}`), /^<.{0,3}\[hidden\].{0,2}$/u);
    }
  });
}

test('what Basic encodes is blanked, and so is the password alone', (t) => {
  const hide = hideValues([`Basic ${base64('user:correct:horse')}`, 'basic', 'Basic !']);

  t.is(hide(`no user user:correct:horse, or "correct:horse" is wrong`), 'no user [hidden], or "[hidden]" is wrong');
  t.is(hide(base64('user:correct:horse')), '[hidden]');
});

test('what holds no value stays as it was, escapes and all', (t) => {
  const hide = hideValues([SECRET]);
  const answer = String.raw`{"a":"\/\u0041","b":"%41+%","c":"&quot;&#65;&"} ${base64('something else')} ${hex('something')} \q%`;

  t.is(hide(answer), answer);
});

test('of two values of which one is in the other both are blanked at once', (t) => {
  t.is(hideValues(['abcdef-ghijkl', 'ghijkl-mnopqr'])('<abcdef-ghijkl-mnopqr>'), '<[hidden]>');
});

test('values that repeat themselves are blanked wherever they begin, also where they overlap', (t) => {
  const letters = string({ unit: constantFrom('a', 'b'), minLength: 6, maxLength: 12 });
  t.notThrows(() =>
    assert(
      property(letters, array(letters, { maxLength: 6 }), (value, parts) => {
        const answer = `<${parts.join('c')}${value.slice(0, 7)}`;
        const hidden = hideValues([value])(answer);
        const shown = hidden.replaceAll('[hidden]', '|');
        return shown.length < answer.length && !shown.includes(value) && !endsWithBeginning(shown, value);
      }),
    ),
  );
});

function endsWithBeginning(text: string, value: string): boolean {
  return Array.from({ length: value.length - 6 }, (_, more) => value.slice(0, 6 + more)).some((beginning) =>
    text.endsWith(beginning),
  );
}

/** Twenty values of 4 KiB, as many and as long as a webhook may send. */
const longest = (write: (index: number) => string): readonly string[] =>
  Array.from({ length: 20 }, (_, index) => write(index));
const a = (times: number): string => 'a'.repeat(times);

/** Begins with an escape of each kind, so that each form is looked through. */
const ESCAPES = String.raw`\u0061%61+&#97;b`;

for (const [name, values, answer] of [
  ['ends with much that is nearly a beginning', longest((index) => `${a(4_095 - index)}b`), `${a(2_000)}c${a(2_070)}`],
  ['is nearly a value all over', longest((index) => `${a(512)}b${a(511 + index)}`), a(4_070)],
] as const)
  test(`an answer of 4 KiB that ${name} is looked through at once`, (t) => {
    const hide = hideValues(values);
    const before = process.cpuUsage();
    hide(`${ESCAPES}${answer}`);
    const { user, system } = process.cpuUsage(before);

    t.true(user + system < 150_000, `${user + system} us`); // 7 to 30 ms; 280 and 1,450 while it took the square
  });
