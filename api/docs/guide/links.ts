/** How machines reach their admins over links that cost or lead through a proxy: sections of the page on nodes. */
import type { Section } from './page.ts';

/** AGENT_METERED. */
export const METERED_LINKS: Section = {
  title: 'Metered links',
  blocks: [
    {
      kind: 'text',
      text: 'An idle agent exchanges a ping and a report with its admin every 10 s: some 8 MB a day. With `AGENT_METERED=true` it pings every 60 s and reports when something changed: less than 1 MB a day. The price: a machine that lost power is noticed after up to 2 minutes, and it joins no VPN unless you set `VPN_ENABLED=true`, since each peer costs 0.5 MB a day. Commands, SSH and proxies work as ever.',
    },
  ],
};

/** HTTPS_PROXY, HTTP_PROXY and NO_PROXY. */
export const BEHIND_A_PROXY: Section = {
  title: 'Behind an HTTP proxy',
  blocks: [
    {
      kind: 'text',
      text: 'Where machines get out by a proxy only, set `HTTPS_PROXY=http://proxy.example:3128`, or `HTTP_PROXY` where the admins have `http://` URLs. Sessions, tunnels, enrolment and uploads go there by CONNECT, so the proxy must let that through to the port of the admin. Credentials stand in the URL, as in `http://user:password@proxy.example:3128`; `HTTPS_PROXY_FILE` names a file that holds it. `NO_PROXY=corp.example,10.0.0.0/8` names admins that are reached directly. The VPN and what others reach through the machine do not use it.',
    },
  ],
};
