{{- define "moorage.fullname" -}}
{{- if .Values.fullnameOverride }}{{ .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else }}{{- $name := default .Chart.Name .Values.nameOverride }}
{{- if contains $name .Release.Name }}{{ .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}{{ printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" }}{{ end }}{{ end }}
{{- end -}}

{{- define "moorage.selectorLabels" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "moorage.labels" -}}
{{ include "moorage.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "moorage.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}{{ default (include "moorage.fullname" .) .Values.serviceAccount.name }}
{{- else }}{{ default "default" .Values.serviceAccount.name }}{{ end }}
{{- end -}}

{{- define "moorage.image" -}}
{{- if .Values.image.digest }}{{ printf "%s@%s" .Values.image.repository .Values.image.digest }}
{{- else }}{{ printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) }}{{ end }}
{{- end -}}

{{- /* The configuration file: leader election from `leaderElection`, overridden by the fields of `config`. */ -}}
{{- define "moorage.config" -}}
{{- $election := dict "leaderElect" .Values.leaderElection.enabled "leaseDuration" .Values.leaderElection.leaseDuration "renewDeadline" .Values.leaderElection.renewDeadline "retryPeriod" .Values.leaderElection.retryPeriod "resourceName" .Values.leaderElection.resourceName "resourceNamespace" .Values.leaderElection.resourceNamespace -}}
{{- $base := dict "apiVersion" "kubescheduler.config.k8s.io/v1" "kind" "KubeSchedulerConfiguration" "leaderElection" $election -}}
{{- toYaml (mergeOverwrite $base (deepCopy .Values.config)) -}}
{{- end -}}

{{- /* The Lease in force, NAMESPACE/NAME. moorage never takes kube-scheduler's. */ -}}
{{- define "moorage.lease" -}}
{{- $election := (include "moorage.config" . | fromYaml).leaderElection -}}
{{- $election.resourceNamespace }}/{{ eq $election.resourceName "kube-scheduler" | ternary "moorage" $election.resourceName -}}
{{- end -}}

{{- /* "true" if replicas elect a leader, else empty. */ -}}
{{- define "moorage.elects" -}}
{{- if (include "moorage.config" . | fromYaml).leaderElection.leaderElect }}true{{ end }}
{{- end -}}
