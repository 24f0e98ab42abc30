/** What receivers echo does not bring the headers of a webhook into the log. */
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
