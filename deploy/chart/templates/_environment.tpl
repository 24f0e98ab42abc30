{{- /* The settings of an admin. Names are those of docs/settings.md. */ -}}

{{- define "edge.environment" -}}
- name: ADMIN_NAME
  valueFrom: { fieldRef: { fieldPath: metadata.name } }
- name: ADMIN_URLS
  value: {{ include "edge.urls" . | quote }}
{{- if .Values.hostPerAdmin.domain }}
- name: ADMIN_OWN_URL
  value: {{ printf "%s://$(ADMIN_NAME).%s" (include "edge.publicScheme" .) .Values.hostPerAdmin.domain | quote }}
{{- else if gt (int .Values.replicas) 1 }}
# Its own among the admins; agents get there only from inside, and are passed on where they do not.
- name: ADMIN_OWN_URL
  value: {{ printf "%s://$(ADMIN_NAME).%s:44000" (include "edge.publicScheme" .) (include "edge.peers" .) | quote }}
{{- end }}
- name: ADMIN_PEER_URL
  value: {{ printf "%s://$(ADMIN_NAME).%s:44000" (include "edge.scheme" .) (include "edge.peers" .) | quote }}
- name: METRICS_BASE_URL
  value: {{ include "edge.inner" . | quote }}
{{- with .Values.trustedProxies }}
- name: TRUSTED_PROXIES
  value: {{ join "," . | quote }}
{{- end }}
# A pod has no interface in the VPN of a cluster, and UDP does not come by an ingress: nodes are reached by tunnels.
- name: ADMIN_GATEWAY_ENABLED
  value: 'false'
- name: ADMIN_OBSERVER_ENABLED
  value: 'false'
- name: ADMIN_PROXY_ENABLED
  value: {{ .Values.proxies.enabled | quote }}
{{- if .Values.relay.enabled }}
- name: CORE_DERP_MAP_URLS
  value: {{ printf "https://%s:%d/derp-map.json" .Values.relay.hostname (int .Values.relay.port) | quote }}
{{- end }}
{{- if .Values.tls.existingSecret }}
- name: ADMIN_TLS_CERT_FILE
  value: /run/edge/tls/tls.crt
- name: ADMIN_TLS_KEY_FILE
  value: /run/edge/tls/tls.key
{{- end }}
{{- if .Values.trustedAuthorities.existingSecret }}
- name: NODE_EXTRA_CA_CERTS
  value: /run/edge/authorities/{{ .Values.trustedAuthorities.key }}
{{- end }}
{{- range $name, $_ := include "edge.keys" . | fromJson }}
- name: {{ $name }}_FILE
  value: /run/edge/secrets/{{ $name }}
{{- end }}
{{- range $name, $value := .Values.settings }}
- name: {{ $name }}
  value: {{ ternary (printf "%.0f" $value) (toString $value) (kindIs "float64" $value) | quote }}
{{- end }}
{{- end -}}
