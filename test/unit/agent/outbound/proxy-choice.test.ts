/** Which proxy a connection to an admin goes through. */
import test from 'ava';
import { proxyFor, proxyOf, withProxyVariables } from '../../../../agent/outbound/proxy-choice.ts';

test('the URL of a proxy is read with its credentials, which its name does not hold', (t) => {
  t.deepEqual(proxyOf('http://us%40er:p%3Aw@proxy.example:3128/'), {
    origin: 'http://proxy.example:3128',
    host: 'proxy.example',
    port: 3_128,
    isTls: false,
    authorization: `Basic ${Buffer.from('us@er:p:w').toString('base64')}`,
  });
  t.like(proxyOf('proxy:8080'), { host: 'proxy', port: 8_080, isTls: false, authorization: null });
  t.like(proxyOf('https://[2001:db8::1]'), { host: '2001:db8::1', port: 443, isTls: true });
  for (const text of ['socks5://proxy:1080', 'http://', 'http://proxy:3128/path', 'http://%zz@proxy', '://', 'a b'])
    t.is(proxyOf(text), null, text);
});

test('https and http admins have a proxy each, this machine none, and neither has what NO_PROXY names', (t) => {
  const variables = {
    HTTPS_PROXY: 'http://secure:1',
    HTTP_PROXY: 'http://plain:2',
    NO_PROXY: [
      'corp.example',
      '.dot.example',
      '*.star.example',
      '10.0.0.0/8',
      '192.0.2.7',
      '[2001:db8::5]',
      'ported.example:8443',
    ],
  };
  const through = (url: string) => proxyFor(url, variables)?.host ?? null;

  t.is(through('https://edge.example:44000'), 'secure');
  t.is(through('wss://edge.example:44000/x'), 'secure');
  t.is(through('http://edge.example'), 'plain');
  for (const url of [
    'https://localhost:44000',
    'http://127.0.0.1:44000',
    'http://[::1]:44000',
    'https://corp.example',
    'https://a.corp.example',
    'https://a.dot.example',
    'https://dot.example',
    'https://b.star.example',
    'https://10.1.2.3',
    'https://192.0.2.7:44000',
    'https://[2001:db8::5]',
    'https://ported.example:8443',
    'not a url',
  ])
    t.is(through(url), null, url);
  for (const url of ['https://xcorp.example', 'https://ported.example', 'https://11.0.0.1', 'https://[2001:db8::6]'])
    t.is(through(url), 'secure', url);
  t.is(proxyFor('https://edge.example', { ...variables, NO_PROXY: ['*'] }), null);
  t.is(proxyFor('https://edge.example', { HTTP_PROXY: 'http://plain:2' }), null);
});

test('the names in lower case count where those in upper case are not set', (t) => {
  t.like(
    withProxyVariables({ https_proxy: 'a', HTTP_PROXY: 'b', http_proxy: 'c', NO_PROXY: '', no_proxy: 'd', X: 'e' }),
    {
      HTTPS_PROXY: 'a',
      HTTP_PROXY: 'b',
      NO_PROXY: 'd',
      X: 'e',
    },
  );
});
