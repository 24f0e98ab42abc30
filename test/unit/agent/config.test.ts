/** The settings of the agent that say who gets where through its machine. */
import test from 'ava';
import { AGENT_SETTINGS, egressRulesOf, isVpnWanted, registrationOf, withLoopback } from '../../../agent/config.ts';
import { readSettings } from '../../../settings/environment.ts';
import { agentConfig as config } from '../../support/agent/agent-config.ts';

function problems(env: Readonly<Record<string, string>>): readonly string[] {
  const read = readSettings(AGENT_SETTINGS, env);
  return read.ok ? [] : read.problems;
}

test('without a word mail is blocked, the proxies listen on loopback, and they want a password', (t) => {
  t.like(config({}), {
    AGENT_PROXY_ENABLED: true,
    AGENT_PROXY_HOST: ['127.0.0.1'],
    AGENT_PROXY_AUTH_ENABLED: true,
    AGENT_HTTP_PROXY_PORT: 43_128,
    AGENT_SOCKS5_PROXY_PORT: 41_080,
  });
  t.deepEqual(egressRulesOf(config({})), {
    blockedPorts: ['25'],
    blockedHosts: [],
    allowedHosts: [],
    servedPorts: [44_000, 40_022, 49_100, 49_586, 43_128, 41_080],
  });
});

test('lists are taken as they are written', (t) => {
  const rules = egressRulesOf(
    config({
      PROXY_BLOCKED_PORTS: '25, 6000-6063,',
      PROXY_CUSTOM_BLOCKED_HOSTS: '*.ads.example,10.0.0.0/8',
      PROXY_CUSTOM_ALLOWED_HOSTS: '127.0.0.1,fe80::/10',
    }),
  );

  t.like(rules, {
    blockedPorts: ['25', '6000-6063'],
    blockedHosts: ['*.ads.example', '10.0.0.0/8'],
    allowedHosts: ['127.0.0.1', 'fe80::/10'],
  });
  t.deepEqual(egressRulesOf(config({ PROXY_BLOCKED_PORTS: 'none' })).blockedPorts, ['none']);
});

test('labels are read as pairs, and those that are none are told in one line', (t) => {
  t.deepEqual(config({ AGENT_LABELS: 'env=prod, example.com/rack=7' }).AGENT_LABELS, {
    env: 'prod',
    'example.com/rack': '7',
  });
  t.is(config({}).AGENT_LABELS, undefined);
  t.deepEqual(problems({ AGENT_LABELS: 'env' }), [
    'AGENT_LABELS is "env": it should be at most 64 comma-separated labels such as env=prod,zone=a, in the syntax of Kubernetes',
  ]);
});

test('what cannot be understood is told in one line each', (t) => {
  t.deepEqual(
    problems({
      AGENT_PROXY_HOST: 'localhost',
      AGENT_PROXY_AUTH_ENABLED: 'maybe',
      AGENT_HTTP_PROXY_PORT: '65536',
      PROXY_BLOCKED_PORTS: '25,smtp',
      PROXY_CUSTOM_BLOCKED_HOSTS: 'http://ads.example',
      PROXY_CUSTOM_ALLOWED_HOSTS: '10.0.0.0/33',
    }),
    [
      'AGENT_PROXY_HOST is "localhost": it should be at most 8 comma-separated addresses of this machine',
      'AGENT_PROXY_AUTH_ENABLED is "maybe": it should be true or false',
      'AGENT_HTTP_PROXY_PORT is "65536": it should be a whole number from 0 to 65535',
      'PROXY_BLOCKED_PORTS is "25,smtp": it should be none, or at most 256 comma-separated ports or ranges such as 6000-6063',
      'PROXY_CUSTOM_BLOCKED_HOSTS is "http://ads.example": it should be at most 256 comma-separated names, *.names, addresses or ranges such as 10.0.0.0/8',
      'PROXY_CUSTOM_ALLOWED_HOSTS is "10.0.0.0/33": it should be at most 256 comma-separated names, *.names, addresses or ranges such as 10.0.0.0/8',
    ],
  );
  t.is(
    problems({ PROXY_BLOCKED_PORTS: Array.from({ length: 257 }, (_unused, index) => index + 1).join(',') }).length,
    1,
  );
  t.is(problems({ PROXY_BLOCKED_PORTS: 'none,25' }).length, 1);
});

test('admins are told the ports that the servers got, and until then those that are usual', (t) => {
  const free = config({
    AGENT_HTTP_PROXY_PORT: '0',
    AGENT_SOCKS5_PROXY_PORT: '0',
    AGENT_SSH_PORT: '0',
    AGENT_API_PORT: '1',
  });
  const others = { http_port: 1, host_metrics_port: 49_100, wireguard_metrics_port: 49_586 };

  t.deepEqual(registrationOf(free, '1.0.0').ports, {
    ...others,
    ssh_port: 40_022,
    http_proxy_port: 43_128,
    socks5_proxy_port: 41_080,
  });
  t.deepEqual(registrationOf(free, '1.0.0', { http_proxy_port: 5, ssh_port: 6 }).ports, {
    ...others,
    ssh_port: 6,
    http_proxy_port: 5,
    socks5_proxy_port: 41_080,
  });
});

test('a server that admins must reach listens where admins come from, whatever else is said', (t) => {
  const hosts = (text?: string) =>
    withLoopback(config(text === undefined ? {} : { AGENT_SSH_HOST: text }).AGENT_SSH_HOST);

  t.deepEqual(hosts(), ['127.0.0.1']);
  t.deepEqual(hosts('192.168.1.5,10.0.0.1'), ['192.168.1.5', '10.0.0.1', '127.0.0.1']);
  for (const text of ['0.0.0.0', '::', '::1', '10.0.0.1,127.0.0.1']) t.deepEqual(hosts(text), text.split(','));
});

test('names of the cluster come by a resolver or the hosts file, and resolv.conf is touched for those only who say so', (t) => {
  t.like(config({}), {
    VPN_PATH_MTU_DISCOVERY: true,
    VPN_DNS: 'resolver',
    VPN_DNS_RESOLV_CONF: false,
  });
  t.deepEqual(problems({ VPN_DNS: 'dnsmasq' }), ['VPN_DNS is "dnsmasq": it should be one of resolver, hosts, off']);
});

test('a metered machine says how seldom it is heard, and joins no VPN unless somebody says so', (t) => {
  const metered = config({ AGENT_METERED: 'true' });

  t.deepEqual(registrationOf(metered, '1.0.0').rhythm, { ping_ms: 60_000, report_ms: 600_000 });
  t.is(registrationOf(config({}), '1.0.0').rhythm, undefined);
  t.deepEqual(
    [config({}), metered, config({ AGENT_METERED: 'true', VPN_ENABLED: 'true' }), config({ VPN_ENABLED: 'false' })].map(
      isVpnWanted,
    ),
    [true, false, true, false],
  );
});
